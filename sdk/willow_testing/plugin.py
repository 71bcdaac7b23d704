"""Fixtures for pytest. `pip install './sdk[testing]'` makes them known.

`willow_url`: a real broker for the session, with a PostgreSQL of its own; or the one at `--willow-url`.
`willow_queue`: names of queues that no other test uses. `fake_willow`: one in memory.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from willow_testing.fake import FakeWillow

START_SECONDS = 180.0  # a first start installs packages
STOP_SECONDS = 60.0
READY = "Willow is ready"
CHECKOUT = "WILLOW_CHECKOUT"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("willow")
    group.addoption("--willow-url", help="a broker that runs already, instead of one for these tests")
    group.addoption("--willow-checkout", help=f"the folder of Willow, where `./willow` is ({CHECKOUT})")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """pytest does not know this option yet when it looks for the project's settings: it takes a folder that stands by
    itself for one of tests.
    """
    checkout = early_config.known_args_namespace.willow_checkout
    settings, project = early_config.inipath, early_config.invocation_params.dir
    if checkout and settings is not None and settings.parent == Path(checkout).resolve() != project.resolve():
        raise pytest.UsageError(
            f"pytest would go by {settings}, which is Willow's own. Write --willow-checkout={checkout}."
        )
    return (yield)


@pytest.fixture(scope="session")
def willow_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a real broker, for `willow_client.connect`."""
    url = request.config.getoption("--willow-url")
    if url:
        yield url
        return
    checkout = request.config.getoption("--willow-checkout") or os.environ.get(CHECKOUT)
    if not checkout or not (Path(checkout) / "willow").is_file():
        pytest.fail(f"--willow-checkout (or {CHECKOUT}) must be the folder of Willow, not {checkout!r}.")
    home = tempfile.mkdtemp(prefix="willow-tests-")
    Path(home).chmod(0o755)  # PostgreSQL runs as another user than root
    try:
        yield from _running(Path(checkout), Path(home))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _running(checkout: Path, home: Path) -> Iterator[str]:
    port = _free_port()
    log = home / "willow.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["./willow", "up", "--home", str(home / "home"), "--port", str(port)],
            cwd=checkout,
            env={name: value for name, value in os.environ.items() if name != CHECKOUT},  # no setting of a broker's
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
    try:
        _wait_until_ready(process, log)
        yield f"ws://127.0.0.1:{port}/connect/"
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _wait_until_ready(process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while READY not in log.read_text():
        if process.poll() is not None or time.monotonic() > until:
            pytest.fail(f"Willow did not start:\n{log.read_text()[-2000:]}")
        time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@pytest.fixture
def willow_queue() -> Callable[[str], str]:
    """`willow_queue("orders")` is a name that only this test uses."""
    namespace = f"test-{uuid.uuid4().hex}"
    return lambda name: f"{namespace}.{name}"


@pytest.fixture
def fake_willow() -> FakeWillow:
    return FakeWillow()
