"""How the nodes share the rate of a key: by what its callers want of each, so that a lone busy node has all of it."""

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_SHARE = 0.02  # of a rate, for a node where nothing was wanted yet
SHORTEST_COUNT = 0.1  # seconds
FADING = 0.5  # a pause makes what was wanted fall by no more than this from one beat to the next


@dataclass(slots=True)
class Wanted:
    """What callers would post here, in a second; also what was refused counts."""

    rate: float = 0.0
    _since: float = 0.0
    _counted_at: float | None = None

    def add(self, amount: float, now: float) -> None:
        if self._counted_at is None:
            self._counted_at = now
        self._since += amount

    def count(self, now: float, most: float) -> float:
        """Since the last count, `most` of it at most."""
        seconds = max(now - (self._counted_at or now), SHORTEST_COUNT)
        self.rate = min(most, max(self._since / seconds, self.rate * FADING))
        self._since, self._counted_at = 0.0, now
        return self.rate


def fair_share(rate: float, own: float, others: Sequence[float]) -> float:
    """What this node may use of a rate. Who wants little gets it; what is left over is shared equally."""
    mine = max(own, LEAST_SHARE * rate)
    wants = sorted([mine, *others])
    if (wanted := sum(wants)) <= rate:
        return mine + (rate - wanted) / len(wants)
    left = rate
    for position, one in enumerate(wants):
        level = left / (len(wants) - position)
        if one > level:
            return min(mine, level)
        left -= one
    return mine
