"""Large frames go through a process of their own, and come back as the codecs would decode them here."""

import asyncio
import json as plain_json
import os
import signal
from collections.abc import Iterator

import pytest

from delivery.gateway.large_frames import LargeFrames, decode
from delivery.protocol.commands import Pop, Post
from tests.fuzz.mutations import BINCODE
from tests.unit.protocol.samples import LIMITS

BODY = "é" * 300_000
FRAME = plain_json.dumps(
    [
        {"type": "post", "queue": "q", "message": BODY, "label": 1},
        {"type": "pop"},
        *({"type": "pop", "queue": "q", "label": number} for number in range(2, 500)),
        {"type": "post", "queue": "q", "message": "small", "label": 500},
    ]
).encode()
PIECES = [FRAME[begin : begin + 65_536] for begin in range(0, len(FRAME), 65_536)]


@pytest.fixture
def large_frames() -> Iterator[LargeFrames]:
    frames = LargeFrames()
    yield frames
    frames.end()


async def test_commands_bodies_and_errors_come_back_in_their_order(large_frames: LargeFrames) -> None:
    found = list(await large_frames.decode(PIECES, False, LIMITS))
    assert repr(found) == repr(decode(FRAME, False, LIMITS))
    assert isinstance(found[0], Post) and isinstance(found[-2], Pop)
    assert found[0].message == BODY.encode()


async def test_binary_frames(large_frames: LargeFrames) -> None:
    data = b"".join(BINCODE)
    assert repr(list(await large_frames.decode([data], True, LIMITS))) == repr(decode(data, True, LIMITS))


async def test_when_the_process_was_killed_the_frame_is_decoded_and_the_next_has_a_new_one(
    large_frames: LargeFrames,
) -> None:
    expected = repr(decode(FRAME, False, LIMITS))
    await large_frames.decode(PIECES, False, LIMITS)
    killed = large_frames.process_number
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    for _ in range(2):
        assert repr(list(await large_frames.decode(PIECES, False, LIMITS))) == expected
    assert large_frames.process_number not in (None, killed)


async def test_whoever_goes_meanwhile_leaves_nothing_for_the_next(large_frames: LargeFrames) -> None:
    await large_frames.decode(PIECES, False, LIMITS)
    going = asyncio.create_task(large_frames.decode(PIECES, False, LIMITS))
    await asyncio.sleep(0)
    going.cancel()
    single = b'{"type": "pop", "queue": "q", "label": 7}'
    assert list(await large_frames.decode([single], False, LIMITS)) == decode(single, False, LIMITS)
    assert going.cancelled()
