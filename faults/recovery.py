"""How soon clients were served as before, after each fault."""

from bisect import bisect_left
from collections.abc import Sequence
from statistics import median

from faults.history import Event, Kind
from faults.remains import Fault

BEFORE_SECONDS = 5
MOST_SECONDS = 30  # after a fault, that are looked at
AS_BEFORE = 0.95


def seconds_to_recover(history: Sequence[Event], faults: Sequence[Fault]) -> list[float | None]:
    """For each fault: until a whole second had 95 % of the messages of the median second before. None: not in time."""
    received = [event.at for event in history if event.kind == Kind.RECEIVED]

    def in_second(begins: float) -> int:
        return bisect_left(received, begins + 1) - bisect_left(received, begins)

    found: list[float | None] = []
    for fault in faults:
        wanted = AS_BEFORE * median(in_second(fault.began - 1 - second) for second in range(BEFORE_SECONDS))
        tenths = (tenth / 10 for tenth in range(MOST_SECONDS * 10))
        found.append(next((after for after in tenths if in_second(fault.ended + after) >= max(wanted, 1)), None))
    return found
