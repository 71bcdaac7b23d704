"""Large frames go through a process of their own, and come back as the codecs would decode them here."""

import asyncio
import json as plain_json
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from delivery.gateway import large_frames as large_frames_module
from delivery.gateway.decoder import Decoded, decode
from delivery.gateway.large_frames import LITTLE_PART, LargeFrames
from delivery.protocol.commands import Pop, Post
from delivery.protocol.errors import Code, FrameError
from delivery.storage.presence import LONG_AGO
from tests.fuzz.seeds import BINCODE
from tests.support.cluster import PATIENCE
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
def large_frames(monkeypatch: pytest.MonkeyPatch) -> Iterator[LargeFrames]:
    monkeypatch.setattr(large_frames_module, "REFUSAL_SECONDS", 0)
    frames = LargeFrames()
    yield frames
    frames.end()


async def decoded_by(large_frames: LargeFrames, pieces: Sequence[bytes], *, binary: bool = False) -> Decoded:
    async with large_frames.decoded(pieces, binary, LIMITS) as commands:
        return list(commands)


def comparable(decoded: Decoded) -> list[object]:
    """Commands as they are, errors (which are only equal to themselves) by what they say."""
    return [(part.label, part.args) if isinstance(part, FrameError) else part for part in decoded]


async def test_commands_bodies_and_errors_come_back_in_their_order(large_frames: LargeFrames) -> None:
    found = await decoded_by(large_frames, PIECES)
    assert comparable(found) == comparable(decode(FRAME, False, LIMITS))
    assert isinstance(found[0], Post) and isinstance(found[-2], Pop)
    assert found[0].message == BODY.encode()


async def test_binary_frames(large_frames: LargeFrames) -> None:
    data = b"".join(BINCODE)
    assert comparable(await decoded_by(large_frames, [data], binary=True)) == comparable(decode(data, True, LIMITS))


async def test_when_the_process_was_killed_the_frame_is_decoded_and_the_next_has_a_new_one(
    large_frames: LargeFrames,
) -> None:
    expected = comparable(decode(FRAME, False, LIMITS))
    await decoded_by(large_frames, PIECES)
    killed = large_frames.process_number
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    for _ in range(2):
        assert comparable(await decoded_by(large_frames, PIECES)) == expected
    assert large_frames.process_number not in (None, killed)


def large_post(label: int, size: int) -> list[bytes]:
    return [plain_json.dumps({"type": "post", "queue": "q", "label": label, "message": "x" * size}).encode()]


async def test_only_so_many_wait_and_who_sends_less_is_refused_later(large_frames: LargeFrames) -> None:
    many = [large_post(label, LIMITS.max_body_bytes - 1000) for label in range(12)]
    little = large_post(12, LIMITS.max_body_bytes // LITTLE_PART)
    found = await asyncio.gather(*(decoded_by(large_frames, pieces) for pieces in (*many, little)))
    commands = [decoded[0] for decoded in found]
    refused = [command for command in commands if isinstance(command, FrameError)]
    assert [error.label for error in refused] == list(range(4, 12))
    assert {error.code for error in refused} == {Code.OVERLOADED}
    assert isinstance(commands[-1], Post)
    assert isinstance((await decoded_by(large_frames, many[0]))[0], Post), "there is room again"


async def test_a_frame_counts_until_its_commands_are_handled(large_frames: LargeFrames) -> None:
    many = [large_post(label, LIMITS.max_body_bytes - 1000) for label in range(5)]
    async with AsyncExitStack() as handling:
        for pieces in many[:4]:
            commands = await handling.enter_async_context(large_frames.decoded(pieces, False, LIMITS))
            assert isinstance(next(commands), Post)
        [refused] = await decoded_by(large_frames, many[4])
        assert isinstance(refused, FrameError) and refused.code == Code.OVERLOADED
    assert isinstance((await decoded_by(large_frames, many[4]))[0], Post)


async def test_whoever_goes_meanwhile_leaves_nothing_for_the_next(
    large_frames: LargeFrames, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, began, may_go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    decoded, under_way = large_frames._decoded, list[int]()

    def slowly(*arguments: Any) -> Any:
        under_way.append(len(under_way))
        assert len(under_way) == 1, "two threads at the socket of one process"
        loop.call_soon_threadsafe(began.set)
        may_go_on.wait(PATIENCE)
        try:
            return decoded(*arguments)
        finally:
            under_way.pop()

    monkeypatch.setattr(large_frames, "_decoded", slowly)
    going = asyncio.create_task(decoded_by(large_frames, PIECES))
    await began.wait()
    single = b'{"type": "pop", "queue": "q", "label": 7}'
    next_one = asyncio.create_task(decoded_by(large_frames, [single]))
    for _ in range(3):  # a server that wants to end it does so again and again
        going.cancel()
        await asyncio.sleep(0)
    may_go_on.set()
    assert await next_one == decode(single, False, LIMITS)
    assert going.cancelled()


@pytest.mark.parametrize("others_are_there", [True, False])
async def test_a_large_frame_makes_the_next_one_wait_while_others_are_there(
    large_frames: LargeFrames, monkeypatch: pytest.MonkeyPatch, others_are_there: bool
) -> None:
    monkeypatch.setattr(large_frames_module, "clients_here", SimpleNamespace(is_of_several=others_are_there))
    await decoded_by(large_frames, PIECES)
    assert (large_frames._rested_at > LONG_AGO) is others_are_there


@pytest.mark.parametrize(("took", "rest"), [(0.01, 0.06), (10.0, 0.5)])
def test_it_rests_for_six_times_as_long_as_a_frame_took_but_shuts_nobody_out(
    large_frames: LargeFrames, monkeypatch: pytest.MonkeyPatch, took: float, rest: float
) -> None:
    monkeypatch.setattr(large_frames_module, "clients_here", SimpleNamespace(is_of_several=True))
    monkeypatch.setattr(large_frames_module, "time", SimpleNamespace(perf_counter=lambda: 1000.0))
    large_frames._rest_after(took)
    assert large_frames._rested_at == pytest.approx(1000.0 + rest)


async def test_the_process_finds_its_code_where_python_looks_nowhere_by_itself(
    large_frames: LargeFrames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    assert comparable(await decoded_by(large_frames, PIECES)) == comparable(decode(FRAME, False, LIMITS))
    process = large_frames._process._process
    assert process is not None and process.poll() is None, "it was decoded there"
