"""A process that stood still notices it, whatever it does first when it goes on."""

import asyncio

import pytest

from delivery.schedules import pulse
from delivery.schedules.pulse import STANDSTILL_SECONDS, Pulse


class Clock:
    seconds = 1_000_000.0

    def time(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pulse, "time", clock)
    return clock


def test_a_standstill_is_told_once(clock: Clock) -> None:
    watched = Pulse()
    clock.seconds += STANDSTILL_SECONDS
    assert not watched.stood_still()
    clock.seconds += STANDSTILL_SECONDS + 1
    assert watched.stood_still()
    assert not watched.stood_still()


async def test_a_beat_after_the_standstill_does_not_hide_it(clock: Clock) -> None:
    watched = Pulse()
    clock.seconds += STANDSTILL_SECONDS + 1
    beating = asyncio.create_task(watched.beat())
    await asyncio.sleep(0)  # the task's turn
    beating.cancel()
    assert watched.stood_still()
