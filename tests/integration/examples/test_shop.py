"""The shop of examples/shop: all of its processes beside a real broker, and a customer in front of the page."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from itertools import takewhile
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from tests.acceptance.api.conftest import Call, api, operator_key
from tests.support import fixtures
from tests.support.cluster import PATIENCE, Cluster
from tests.support.launched_willow import LaunchedWillow, free_port, run_willow
from willow_site.launcher.foreground import without_settings

__all__ = ["api", "operator_key"]

broker, start_cluster = fixtures.broker, fixtures.start_cluster

ROOT = Path(__file__).parents[3]


class Customer:
    """A browser without JavaScript."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def look(self) -> str:
        return str(self._opener.open(self._url, timeout=PATIENCE).read().decode())

    def order(self, product: str, email: str) -> str:
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.look())
        assert found is not None
        form = urlencode({"csrfmiddlewaretoken": found[1], "product": product, "email": email})
        return str(self._opener.open(self._url, form.encode(), timeout=PATIENCE).read().decode())

    async def sees(self, *texts: str) -> str:
        """Waits until the page shows all of them."""
        async with asyncio.timeout(2 * PATIENCE):
            while True:
                try:
                    page = await asyncio.to_thread(self.look)
                    if all(text in page for text in texts):
                        return page
                except URLError:
                    pass  # the website is not up yet
                await asyncio.sleep(0.1)


@pytest.fixture
def shop(broker: Cluster, tmp_path: Path) -> Iterator[Customer]:
    port = free_port()
    with running("--port", str(port), "--willow", broker.node.url, "--data", str(tmp_path)):
        yield Customer(f"http://127.0.0.1:{port}/")


@contextmanager
def running(*arguments: str) -> Iterator[None]:
    command = [sys.executable, str(ROOT / "examples/shop/start.py"), *arguments]
    with started(command, env={"PYTHONPATH": str(ROOT / "sdk")}):
        yield


@contextmanager
def started(command: list[str], env: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """Until the end of the block, where every process must end in good order."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True)
    try:
        yield process
    finally:
        process.terminate()
        _, said = process.communicate(timeout=2 * PATIENCE)
        assert process.returncode == 0, said
        assert "Traceback" not in said, said


async def test_an_order_goes_all_its_ways(shop: Customer, api: Call, tmp_path: Path) -> None:
    await shop.sees("None yet. Order something.", "22.41")  # the service's price, a tenth below the list's
    with pytest.raises(HTTPError, match="400"):
        shop.order("Umbrella", "nobody")
    shop.order("Umbrella", "you@example.org")
    page = await shop.sees("you@example.org ordered: Umbrella, for 22.41.")
    while "<td>…</td>" in page:  # the receipt and the packing
        page = await shop.sees("<td>Umbrella</td>")
    [email] = (tmp_path / "emails").iterdir()
    assert "Your order 1" in email.read_text()
    nightly = {"name": "shop-nightly", "queue": "shop.nightly", "message": "report", "cron": "0 3 * * *"}
    assert (await api("POST", "schedules", nightly)).status == 201
    await api("POST", "schedules/shop-nightly/run")
    await shop.sees("1 orders, 22.41 in all")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the shop needs of this one, as a fresh clone has it."""
    folder = tmp_path / "checkout"
    for name in ("examples", "sdk"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".venv", "data", "__pycache__"))
    (folder / "willow").symlink_to(ROOT / "willow")
    return folder


async def test_the_command_that_a_newcomer_types(checkout: Path, home: Path, port: int) -> None:
    """Installed from the start, beside a `./willow up`."""
    with LaunchedWillow(home, port=free_port()) as willow:
        willow.wait_until_ready()
        options = ("--port", str(port), "--willow", f"ws://127.0.0.1:{willow.port}/connect/", "--home", str(home))
        with started([str(checkout / "examples/shop/run"), *options], env=a_newcomers_environ()) as shop:
            assert shop.stdout is not None
            said = await asyncio.to_thread(list, takewhile(is_not_open, shop.stdout))
            assert any("shop-nightly" in line for line in said), said
            customer = Customer(f"http://127.0.0.1:{port}/")
            await customer.sees("None yet. Order something.")
            customer.order("Lantern", "you@example.org")
            ran = await asyncio.to_thread(run_willow, "manage", "--home", str(home), "schedule", "run", "shop-nightly")
            assert ran.returncode == 0, ran.stderr
            await customer.sees("1 orders, ")


def a_newcomers_environ() -> dict[str, str]:
    of_these_tests = ("DJANGO_SETTINGS_MODULE", "PYTHONPATH", "VIRTUAL_ENV")
    return {name: value for name, value in without_settings(os.environ).items() if name not in of_these_tests}


def is_not_open(line: str) -> bool:
    return not line.startswith("The shop is open")
