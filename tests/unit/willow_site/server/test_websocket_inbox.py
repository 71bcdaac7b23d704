"""A client that sends faster than it is served is not read until there is room again."""

import pytest

from willow_site.server.websocket_inbox import FULL_BYTES, FULL_FRAMES, ROOMY_BYTES, ROOMY_FRAMES, Inbox


class Reading:
    """Notes what the inbox asks for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def inbox(self) -> Inbox:
        return Inbox(when_full=lambda: self.asked.append("pause"), when_roomy=lambda: self.asked.append("resume"))


@pytest.mark.parametrize(
    ("size", "full_at", "roomy_at"),
    [(1, FULL_FRAMES, ROOMY_FRAMES), (1024 * 1024, FULL_BYTES // 2**20, ROOMY_BYTES // 2**20)],
    ids=["many small frames", "a few large frames"],
)
async def test_reading_stops_when_full_and_goes_on_when_roomy(size: int, full_at: int, roomy_at: int) -> None:
    reading = Reading()
    inbox = reading.inbox()
    for _ in range(full_at - 1):
        inbox.put_nowait({"type": "websocket.receive", "bytes": bytes(size)})
    assert reading.asked == []
    inbox.put_nowait({"type": "websocket.receive", "bytes": bytes(size)})
    assert reading.asked == ["pause"]
    for _ in range(full_at - roomy_at - 1):
        await inbox.get()
    assert reading.asked == ["pause"]
    await inbox.get()
    assert reading.asked == ["pause", "resume"]


async def test_events_are_never_refused_and_keep_their_order() -> None:
    inbox = Reading().inbox()
    for number in range(FULL_FRAMES * 2):
        inbox.put_nowait({"type": "websocket.receive", "text": str(number)})
    assert [(await inbox.get())["text"] for _ in range(FULL_FRAMES * 2)] == [
        str(number) for number in range(FULL_FRAMES * 2)
    ]
