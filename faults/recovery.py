"""How soon clients were served as before, after each fault."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import count, islice
from statistics import median

from faults.remains import Fault

BEFORE_SECONDS = 10  # without a fault, that a fault is compared with
LOOKED_AT_SECONDS = 60  # before it, to find them
MOST_SECONDS = 60  # after a fault, that are looked at
AS_BEFORE = 0.95


def seconds_to_recover(received: Sequence[float], faults: Sequence[Fault]) -> list[float | None]:
    """For each fault: until a whole second had 95 % of the messages of the median second before. None: not in time.

    `received`: when messages came, ascending. Faults that happened together are over when the last of them is.
    """

    def in_second(begins: float) -> int:
        return bisect_left(received, begins + 1) - bisect_left(received, begins)

    def is_undisturbed(second: float) -> bool:
        return not any(fault.began < second + 1 and second < fault.ended for fault in faults)

    found: list[float | None] = []
    for fault in faults:
        earlier = islice((fault.began - number for number in count(1)), LOOKED_AT_SECONDS)
        before = islice((in_second(second) for second in earlier if is_undisturbed(second)), BEFORE_SECONDS)
        wanted = max(AS_BEFORE * median(before), 1)
        tenths = (tenth / 10 for tenth in range(MOST_SECONDS * 10))
        found.append(next((after for after in tenths if in_second(fault.ended + after) >= wanted), None))
    return found
