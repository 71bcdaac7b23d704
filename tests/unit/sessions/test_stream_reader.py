"""A reader of a stream: what it keeps of messages that its client wants again, and for how long."""

import gc
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from delivery.sessions.positions import StartPosition
from delivery.sessions.stream_feed import StreamMessage
from delivery.sessions.stream_reader import SharedPlaces, StreamReader

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


async def test_a_fail_with_a_delay_of_years_keeps_no_body_and_nothing_when_the_client_has_gone() -> None:
    body: Any = Body()
    watched = weakref.ref(body)
    feed: Any = Feed(StreamMessage(1, 1, 0, body, None, None))
    node = SimpleNamespace(is_paused=lambda _: False, streams=SimpleNamespace(submit=lambda _: None))
    session: Any = SimpleNamespace(session_id=1, node=node, is_crowded=False, send=lambda _: None)
    queue: Any = SimpleNamespace(id=1, name="s", tags=(), settings=SimpleNamespace(heartbeat_timeout=30.0))
    terms: Any = SimpleNamespace(label=1, work_timeout=None)
    reader = StreamReader(session, 1, queue, terms, feed=feed, places=SharedPlaces(10))
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
