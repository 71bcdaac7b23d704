"""Clients that do not read: who is closed, with which code, and what is kept for them then."""

import asyncio
import dataclasses
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings

from delivery.gateway import outbox
from delivery.gateway.outbox import TURN_BYTES, Outbox
from delivery.gateway.socket_control import NoControl
from delivery.protocol.close_codes import TOO_SLOW
from delivery.protocol.frames import Frame, NoMessage, Notice
from delivery.protocol.sizes import FRAME_BYTES
from delivery.sessions.unread_answers import UnreadAnswers

CROWDED = 20  # frames
LARGE_FRAMES = 4
MANY_FRAMES = 100


class Reader:
    """A client whose socket takes nothing until it reads; `outbox` is what the broker has for it."""

    def __init__(self, unread: UnreadAnswers) -> None:
        self.sent: list[dict[str, Any]] = []
        self.reads = asyncio.Event()
        encoder: Any = SimpleNamespace(part="text", encode=str, encode_batch=lambda frames: map(str, frames))
        self.socket = NoControl()
        self.outbox = Outbox(self.take, encoder, batch=False, socket=self.socket, unread=unread)
        self.writing = asyncio.create_task(self.outbox.run())

    async def take(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send":
            await self.reads.wait()
        self.sent.append(message)

    def is_sent(self, frames: int) -> None:
        frame: Frame = NoMessage(label=1)
        for _ in range(frames):
            self.outbox.put(frame)

    def leave(self) -> None:
        self.outbox.end()
        self.writing.cancel()

    async def close_code(self) -> int:
        self.reads.set()
        await self.writing
        code: int = self.sent[-1]["code"]
        return code


@pytest.fixture(autouse=True)
def bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    few = dataclasses.replace(settings.WILLOW, unread_bytes=CROWDED * FRAME_BYTES, unread_seconds=0.001)
    monkeypatch.setattr(settings, "WILLOW", few)


async def test_who_reads_nothing_is_closed_as_too_slow() -> None:
    unread = UnreadAnswers(most_bytes=2**40)
    reader = Reader(unread)
    reader.is_sent(CROWDED + 1)
    assert (reader.outbox.is_crowded, unread.bytes) == (True, (CROWDED + 1) * FRAME_BYTES)
    while not unread.given_up:
        await asyncio.sleep(0)
    assert unread.bytes == 0
    assert await reader.close_code() == TOO_SLOW


async def test_when_all_together_have_too_much_the_one_with_the_most_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "WILLOW", dataclasses.replace(settings.WILLOW, unread_seconds=3600))
    unread = UnreadAnswers(most_bytes=4 * CROWDED * FRAME_BYTES)
    small, large, smaller = (Reader(unread) for _ in range(3))
    for reader, frames in ((smaller, 2), (small, CROWDED + 1), (large, 2 * CROWDED)):
        reader.is_sent(frames)
    assert unread.given_up == 0
    small.is_sent(CROWDED - 2)
    assert unread.given_up == 1
    assert unread.bytes == (2 * CROWDED + 1) * FRAME_BYTES
    assert await large.close_code() == TOO_SLOW
    for reader in (small, smaller):
        reader.reads.set()
        reader.outbox.close(1000, "")
        assert await reader.close_code() == 1000


async def test_who_has_much_is_closed_though_no_connection_alone_has_too_much() -> None:
    unread = UnreadAnswers(most_bytes=3 * CROWDED * FRAME_BYTES)
    readers = [Reader(unread) for _ in range(4)]
    for reader, frames in zip(readers, (CROWDED - 5, CROWDED, CROWDED - 5, CROWDED - 5), strict=True):
        reader.is_sent(frames)
    assert (unread.given_up, len(unread.crowded)) == (1, 0)
    assert [bool(reader.outbox.size) for reader in readers] == [True, False, True, True]
    assert await readers[1].close_code() == TOO_SLOW
    for reader in readers:
        reader.leave()
    assert unread.bytes == 0


async def test_what_a_socket_has_not_sent_counts_until_it_is_looked_at_again() -> None:
    unread = UnreadAnswers(most_bytes=2 * CROWDED * FRAME_BYTES)
    slow, other = Reader(unread), Reader(unread)
    slow.socket.unsent_bytes = CROWDED * FRAME_BYTES
    slow.reads.set()
    slow.is_sent(1)
    while not slow.sent:
        await asyncio.sleep(0)
    assert slow.outbox.size == unread.bytes == CROWDED * FRAME_BYTES
    slow.socket.unsent_bytes = 0
    other.is_sent(CROWDED)
    other.is_sent(1)  # with what was unsent before, that would be too much
    assert (unread.given_up, unread.bytes) == (0, (CROWDED + 1) * FRAME_BYTES)
    slow.leave()
    other.leave()
    assert unread.bytes == 0


async def test_between_many_small_frames_it_is_the_turn_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    unread = UnreadAnswers(most_bytes=2**40)
    monkeypatch.setattr(settings, "WILLOW", dataclasses.replace(settings.WILLOW, unread_bytes=2**40))
    monkeypatch.setattr(outbox, "perf_counter", count(0, outbox.TURN_SECONDS / 4).__next__)  # a frame takes so long
    reader = Reader(unread)
    reader.reads.set()
    reader.is_sent(MANY_FRAMES)
    had_a_turn = 0
    while len(reader.sent) < MANY_FRAMES:
        await asyncio.sleep(0)
        had_a_turn += 1
    assert had_a_turn >= MANY_FRAMES / 4
    reader.leave()


@pytest.mark.parametrize("batch", [False, True])
async def test_between_large_frames_it_is_the_turn_of_others(batch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "WILLOW", dataclasses.replace(settings.WILLOW, unread_bytes=2**40))
    order: list[str] = []

    async def send(message: dict[str, Any]) -> None:
        order.append(message["text"])

    async def somebody_else() -> None:
        for _ in range(LARGE_FRAMES):
            order.append("other")
            await asyncio.sleep(0)

    encoder: Any = SimpleNamespace(part="text", encode=lambda _: "large", encode_batch=lambda _: ["all at once"])
    sending = Outbox(send, encoder, batch=batch, socket=NoControl(), unread=UnreadAnswers(most_bytes=2**40))
    for _ in range(LARGE_FRAMES):
        sending.put(Notice(1, "finish", reply=b"x" * TURN_BYTES))
    await asyncio.gather(sending.flush(), somebody_else())
    assert order.count("large") == LARGE_FRAMES
    assert "large large" not in " ".join(order)
