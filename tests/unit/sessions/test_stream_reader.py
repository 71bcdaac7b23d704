"""A reader of a stream: what it keeps of messages that its client wants again, and for how long."""

import asyncio
import gc
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from delivery.sessions.positions import StartPosition
from delivery.sessions.stream_feed import READ_AT_ONCE, StreamMessage
from delivery.sessions.stream_reader import MOST_OPEN, SharedPlaces, StreamReader

TEN_YEARS = 315_360_000.0  # seconds


class Body:
    """Stands for the bytes of a body, and can be watched."""

    def __len__(self) -> int:
        return 1


class Feed:
    """Knows one message."""

    def __init__(self, message: StreamMessage) -> None:
        self._messages = [message]

    def join(self, reader: StreamReader) -> None: ...

    def leave(self, reader: StreamReader) -> None: ...

    def messages_after(self, cursor: int, most: int, tell: Callable[[list[StreamMessage]], None]) -> None:
        messages, self._messages = self._messages, []
        if messages:
            tell(messages)


class EndlessFeed(Feed):
    """Has every message."""

    def __init__(self) -> None: ...

    def messages_after(self, cursor: int, most: int, tell: Callable[[list[StreamMessage]], None]) -> None:
        indexes = range(cursor + 1, cursor + 1 + min(most, READ_AT_ONCE))
        messages = [StreamMessage(index, index, 0, b"", None, None) for index in indexes]
        asyncio.get_running_loop().call_soon(tell, messages)


def reader_of(feed: Any, *, in_flight: int) -> StreamReader:
    node = SimpleNamespace(is_paused=lambda _: False, streams=SimpleNamespace(submit=lambda _: None))
    session: Any = SimpleNamespace(session_id=1, node=node, is_crowded=False, send=lambda _: None)
    queue: Any = SimpleNamespace(id=1, name="s", tags=(), settings=SimpleNamespace(heartbeat_timeout=30.0))
    terms: Any = SimpleNamespace(label=1, work_timeout=None)
    return StreamReader(session, 1, queue, terms, feed=feed, places=SharedPlaces(in_flight))


async def acknowledge_all(reader: StreamReader, *, but: int | None = None) -> None:
    """Until nothing more comes."""
    while acked := [index for index in reader.unacked if index != but]:
        for index in acked:
            held = reader.held(index, index, None)
            assert held is not None
            reader.acknowledge(held, lambda error: None, synchronous=False)
        for _ in range(3):  # a read, what came of it, and the next read
            await asyncio.sleep(0)


@pytest.mark.parametrize("in_flight", [16, 65_535])
async def test_whoever_keeps_an_old_message_is_sent_so_many_after_it_and_no_more(in_flight: int) -> None:
    reader = reader_of(EndlessFeed(), in_flight=in_flight)
    reader.start(StartPosition(0, 0, [], 0))
    await asyncio.sleep(0)
    await acknowledge_all(reader, but=1)
    assert reader.floor_index == 0
    assert len(reader.acked_above) == MOST_OPEN - 1 == reader.cursor - 1
    oldest = reader.held(1, 1, None)
    assert oldest is not None
    reader.acknowledge(oldest, lambda error: None, synchronous=False)
    assert reader.acked_above == set()
    await asyncio.sleep(0)
    assert reader.cursor > MOST_OPEN, "it goes on"


async def test_a_reader_that_comes_back_with_very_much_behind_its_oldest_goes_on() -> None:
    reader = reader_of(EndlessFeed(), in_flight=16)
    last = 2 * MOST_OPEN
    reader.start(StartPosition(last, 0, list(range(2, last + 1)), last))
    while reader.cursor < last:
        await asyncio.sleep(0)
    assert list(reader.unacked) == [1]
    oldest = reader.held(1, 1, None)
    assert oldest is not None
    reader.acknowledge(oldest, lambda error: None, synchronous=False)
    await asyncio.sleep(0)
    assert reader.cursor > last


async def test_acknowledgements_are_forgotten_when_the_oldest_has_passed_them() -> None:
    reader = reader_of(EndlessFeed(), in_flight=100)
    reader.start(StartPosition(0, 0, [], 0))
    await asyncio.sleep(0)
    for index in (*range(2, 100, 2), *range(1, 100, 2)):
        held = reader.held(index, index, None)
        assert held is not None
        reader.acknowledge(held, lambda error: None, synchronous=False)
        assert all(acked > reader.floor_index for acked in reader.acked_above)
    assert reader.acked_above == set()


async def test_a_fail_with_a_delay_of_years_keeps_no_body_and_nothing_when_the_client_has_gone() -> None:
    body: Any = Body()
    watched = weakref.ref(body)
    feed: Any = Feed(StreamMessage(1, 1, 0, body, None, None))
    reader = reader_of(feed, in_flight=10)
    reader.start(StartPosition(0, 0, [], 0))
    del body
    held = reader.held(1, 1, None)
    assert held is not None
    reader.fail(held, TEN_YEARS)
    gc.collect()
    assert watched() is None
    reader.end()
    gone = weakref.ref(reader)
    del reader, held
    gc.collect()
    assert gone() is None
