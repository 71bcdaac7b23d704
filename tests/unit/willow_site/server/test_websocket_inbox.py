"""A client that sends faster than it is served is not read until there is room again."""

from typing import Any

import pytest
from django.conf import settings

from delivery.storage.meters import Incoming
from willow_site.server.incoming_messages import MOST_WHOLE_ONES, IncomingMessages
from willow_site.server.websocket_inbox import FULL_BYTES, FULL_FRAMES, ROOMY_BYTES, ROOMY_FRAMES, Inbox

MEBIBYTE = 1024 * 1024


class Reading:
    """Notes what the inbox asks for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.meter = Incoming()
        self._incoming = IncomingMessages(self.meter)

    def inbox(self) -> Inbox:
        return Inbox(self, self._incoming)

    def inbox_is_full(self) -> None:
        self.asked.append("pause")

    def inbox_is_roomy(self) -> None:
        self.asked.append("resume")

    def give_up(self, reason: str) -> None:
        self.asked.append("give up")


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


def received(size: int) -> dict[str, Any]:
    return {"type": "websocket.receive", "pieces": [bytes(size)]}


async def test_all_inboxes_together_have_a_bound_with_the_messages_that_are_still_coming() -> None:
    reading = Reading()
    most = MOST_WHOLE_ONES * settings.WILLOW.max_frame_bytes
    inboxes = [reading.inbox() for _ in range(most // (2 * MEBIBYTE) - 1)]
    for inbox in inboxes:
        inbox.put_nowait(received(2 * MEBIBYTE))
    largest = inboxes[3]
    largest.part_grew(MEBIBYTE)
    assert reading.asked == []
    inboxes[4].put_nowait(received(MEBIBYTE - 1))
    inboxes[5].put_nowait({"type": "websocket.receive", "text": "xx"})
    assert reading.asked == ["give up"]
    assert (largest.size, largest.empty(), reading.meter.given_up) == (0, True, 1)
    assert reading.meter.bytes == most - 3 * MEBIBYTE + 1


async def test_what_is_taken_or_left_when_the_application_ends_no_longer_counts() -> None:
    reading = Reading()
    inbox = reading.inbox()
    for _ in range(3):
        inbox.put_nowait(received(MEBIBYTE))
    inbox.part_grew(10)
    inbox.put_nowait({"type": "websocket.disconnect"})
    assert reading.meter.bytes == 3 * MEBIBYTE + 10
    await inbox.get()
    assert reading.meter.bytes == 2 * MEBIBYTE + 10
    inbox.end()
    inbox.end()
    assert reading.meter.bytes == 0
    assert (await inbox.get())["type"] == "websocket.disconnect"
