"""Posting many: a bounded window, progress, and errors message by message."""

from collections.abc import AsyncIterator

import pytest
from willow_client import BadArgument, Client, Draft, Overloaded
from willow_client.posting import Posted, Window

from tests.support.cluster import PATIENCE


async def test_everything_is_stored_in_order(client: Client, queue: str) -> None:
    progress: list[int] = []
    posted = await client.post_many(
        queue, map(str, range(2500)), on_progress=lambda so_far: progress.append(so_far.done)
    )
    assert (posted.stored, posted.errors) == (2500, {})
    assert progress == [1000, 2000, 2500]
    messages = await client.pop_many(queue, 2500, block_timeout=PATIENCE)
    assert [message.text for message in messages] == [str(number) for number in range(2500)]


async def test_an_asynchronous_iterable_of_drafts(client: Client, queue: str) -> None:
    async def drafts() -> AsyncIterator[Draft]:
        yield Draft(body="low")
        yield Draft(body="high", priority=5)

    assert await client.post_many(queue, drafts()) == Posted(stored=2)
    assert [message.text for message in await client.pop_many(queue, 2)] == ["high", "low"]


async def test_one_that_is_refused_does_not_stop_the_others(client: Client, queue: str) -> None:
    await client.create(queue, max_length=3)
    posted = await client.post_many(queue, ["a", 5, "b", "c", "d"], window=1)  # type: ignore[list-item]
    assert posted.stored == 3
    assert {place: type(error) for place, error in posted.errors.items()} == {1: BadArgument, 4: Overloaded}


async def test_the_window_is_bounded(client: Client, queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0
    begin = Window.begin

    def watch(self: Window, size: int) -> None:
        nonlocal most
        begin(self, size)
        most = max(most, self._under_way)

    monkeypatch.setattr(Window, "begin", watch)
    await client.post_many(queue, map(str, range(100)), window=7)
    assert most == 7
