"""What a large frame brings is kept until it is stored, and no longer than that does it count."""

import asyncio
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from delivery.gateway import consumer as consumer_module
from delivery.gateway.consumer import ConnectConsumer
from delivery.gateway.large_frames import LARGE_BYTES, LargeFrames
from delivery.gateway.loop_share import LoopShare
from delivery.protocol.commands import Post
from delivery.protocol.limits import Limits
from delivery.sessions.under_way import UnderWay

LIMITS = Limits(max_body_bytes=4 * LARGE_BYTES, max_frame_bytes=8 * LARGE_BYTES)
FRAME = json.dumps({"type": "post", "queue": "q", "message": "x" * 2 * LARGE_BYTES}).encode()


@pytest.fixture
def large_frames(monkeypatch: pytest.MonkeyPatch) -> Iterator[LargeFrames]:
    frames = LargeFrames()
    monkeypatch.setattr(consumer_module, "large_frames", frames)
    yield frames
    frames.end()


class Client:
    """One that sends a large post and goes; the storage takes its time."""

    def __init__(self) -> None:
        self.under_way = UnderWay()
        self.submitted = asyncio.Event()
        self._events = [{"pieces": [FRAME], "binary": False, "type": "websocket.receive"}]

    async def receive(self) -> dict[str, Any]:
        return self._events.pop() if self._events else {"type": "websocket.disconnect"}

    def handle(self, session: Any, commands: Iterator[Any]) -> bool:
        for command in commands:
            assert isinstance(command, Post)
            self.under_way.began(len(command.message))
            self.submitted.set()
        return True

    def stored(self) -> None:
        self.under_way.ended(2 * LARGE_BYTES)

    async def read(self) -> None:
        async def is_roomy() -> None: ...

        node: Any = SimpleNamespace(commands=SimpleNamespace(handle=self.handle))
        session: Any = SimpleNamespace(under_way=self.under_way)
        outbox: Any = SimpleNamespace(wait_until_roomy=is_roomy)
        socket: Any = SimpleNamespace(share=LoopShare(), has_gone=False)
        await ConnectConsumer()._read(node, session, outbox, self.receive, LIMITS, socket)


@pytest.mark.parametrize("others_are_there", [True, False])
async def test_while_others_are_there_a_large_frame_counts_until_it_is_stored(
    large_frames: LargeFrames, monkeypatch: pytest.MonkeyPatch, others_are_there: bool
) -> None:
    monkeypatch.setattr(consumer_module, "clients_here", SimpleNamespace(is_of_several=others_are_there))
    client = Client()
    reading = asyncio.create_task(client.read())
    await asyncio.wait({reading, asyncio.ensure_future(client.submitted.wait())}, return_when=asyncio.FIRST_COMPLETED)
    if others_are_there:
        await asyncio.sleep(0)
        assert large_frames._kept_bytes == len(FRAME)
        client.stored()
    await reading
    assert large_frames._kept_bytes == 0
