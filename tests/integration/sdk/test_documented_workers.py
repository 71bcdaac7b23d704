"""The workers in the documentation work as they stand there, but for the address."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from willow_client import Client

from tests.support.cluster import PATIENCE, Cluster
from willow_site.processes import ends_with_parent
from willow_site.project_folder import PROJECT_FOLDER

DOCUMENTED_URL = "ws://127.0.0.1:8080/connect/"


def program_of(page: str, call: str) -> str:
    """The one on the page that makes this call."""
    blocks = re.findall(r"```python\n(.*?)```", (PROJECT_FOLDER / page).read_text(), re.DOTALL)
    [program] = [block for block in blocks if call in block]
    return program


@pytest.fixture
def worker(request: pytest.FixtureRequest, broker: Cluster) -> Iterator[None]:
    """The program of a page, in a process of its own."""
    program = program_of(*request.param)
    assert DOCUMENTED_URL in program
    with subprocess.Popen(
        [sys.executable, "-c", program.replace(DOCUMENTED_URL, broker.node.url)],
        env={"PYTHONPATH": str(PROJECT_FOLDER / "sdk")},
        preexec_fn=ends_with_parent(signal.SIGKILL),
    ) as process:
        yield
        process.kill()


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("worker", "service", "reply"),
    [
        (("sdk/README.md", "serve("), "shout", b"CAT.JPG"),
        (("docs/services.md", "serve("), "resize", b"cat.jpg, 100 pixels wide"),
    ],
    indirect=["worker"],
)
async def test_a_documented_worker_answers(client: Client, service: str, reply: bytes) -> None:
    assert await client.request(service, "cat.jpg", timeout=2 * PATIENCE) == reply


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("worker", "queue", "body", "reply"),
    [
        (("sdk/README.md", "run_worker("), "pictures", "cat.jpg", b"cat.jpg is small now"),
        (("docs/workers.md", "run_worker("), "emails", '{"to": "ada"}', None),
    ],
    indirect=["worker"],
)
async def test_a_documented_worker_works(client: Client, queue: str, body: str, reply: bytes | None) -> None:
    assert await client.post(queue, body, wait="finish", timeout=2 * PATIENCE) == reply
