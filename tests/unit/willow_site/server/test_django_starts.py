"""Beside active WebSockets, requests begin one after the other, and one that takes long holds up nobody."""

import asyncio
from collections.abc import Callable

import pytest

from willow_site.server import django_starts
from willow_site.server.django_starts import Starts

PATIENCE = 10


class Requests:
    """Each runs until it is told to end."""

    def __init__(self, starts: Starts) -> None:
        self._starts = starts
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, *names: str) -> None:
        for name in names:
            self._ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._run(name))
        await self._settle()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._settle()

    async def go_away(self, name: str) -> None:
        self.tasks[name].cancel()
        await self._settle()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await asyncio.sleep(0)

    async def _run(self, name: str) -> None:
        async with self._starts.one():
            self.begun.append(name)
            await self._ends[name].wait()

    async def _settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(django_starts, "LONG_SECONDS", 3600)


@pytest.mark.usefixtures("long")
async def test_one_begins_when_the_one_before_has_ended() -> None:
    requests = Requests(Starts(lambda: True))
    await requests.come("a", "b", "c")
    assert requests.begun == ["a"]
    await requests.end("a")
    assert requests.begun == ["a", "b"]
    await requests.end("b")
    assert requests.begun == ["a", "b", "c"]


@pytest.mark.usefixtures("long")
async def test_nobody_waits_while_no_websocket_is_active() -> None:
    requests = Requests(Starts(lambda: False))
    await requests.come("a", "b", "c")
    assert requests.begun == ["a", "b", "c"]


@pytest.mark.usefixtures("long")
async def test_whoever_goes_away_while_it_waits_or_runs_holds_up_nobody() -> None:
    requests = Requests(Starts(lambda: True))
    await requests.come("a", "b", "c", "d")
    await requests.go_away("b")
    await requests.go_away("a")
    assert requests.begun == ["a", "c"]
    requests.tasks["c"].cancel()
    requests.tasks["d"].cancel()  # in the moment in which it is its turn
    await requests.come("e")
    assert requests.begun[-1] == "e"


async def test_one_that_takes_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(django_starts, "LONG_SECONDS", 0.001)
    requests = Requests(Starts(lambda: True))
    await requests.come("a", "b", "c")
    await requests.until(lambda: requests.begun == ["a", "b", "c"])
    await requests.end("a")
    await requests.end("c")
    await requests.end("b")
    await requests.come("d")
    assert requests.begun[-1] == "d"
