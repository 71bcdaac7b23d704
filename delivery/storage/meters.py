"""Plain numbers that the way of a message adds to, once for each batch. Only a scrape makes metrics of them."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # requests
BATCH_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Distribution:
    """How often values fell between bounds, as Prometheus counts it: each bound belongs to what is below it."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def buckets(self) -> list[tuple[str, float]]:
        names = [*map(str, map(float, self._bounds)), "+Inf"]
        return list(zip(names, accumulate(self.counts), strict=True))


class BatchMeter:
    """Batches of one kind of request."""

    __slots__ = ("seconds", "sizes")

    def __init__(self) -> None:
        self.sizes = Distribution(BATCH_SIZES)
        self.seconds = Distribution(BATCH_SECONDS)

    @property
    def batches(self) -> int:
        return sum(self.sizes.counts)

    def add(self, requests: int, seconds: float) -> None:
        self.sizes.add(requests)
        self.seconds.add(seconds)


class Moves:
    """How many messages this process moved, by what became of them."""

    __slots__ = ("claimed", "dead", "dropped", "finished", "handed_over", "popped", "posted", "released", "retried")

    def __init__(self) -> None:
        self.posted = 0
        self.handed_over = 0  # from a post straight to a waiting pop
        self.claimed = 0
        self.popped = 0
        self.finished = 0
        self.retried = 0
        self.released = 0  # given back by a client that had not begun
        self.dead = 0
        self.dropped = 0  # to make room

    def by_name(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


class Incoming:
    """What has come in over the WebSockets of this process and was not taken yet."""

    def __init__(self) -> None:
        self.bytes = 0
        self.given_up = 0  # connections that had sent the most, when it was too much


incoming = Incoming()
