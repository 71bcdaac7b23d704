"""When subscriptions that had all the messages they may have at a time could be given another one."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from faults.evidence import Delivery, Evidence

Subscription = tuple[str, int | None]  # client and label


class Places:
    """A message takes a place of its subscription from its assignment until the end of that attempt."""

    def __init__(self, evidence: Evidence) -> None:
        changes: dict[Subscription, list[tuple[float, int]]] = defaultdict(list)
        ended_at = {(*ending.message, ending.attempt): ending.ended_at for ending in evidence.remains.endings}
        for message, deliveries in evidence.deliveries.items():
            for delivery in deliveries:
                attempt = (*message, delivery.event.attempt)
                subscription = _subscription(delivery)
                changes[subscription].append((evidence.assigned_at.get(attempt, delivery.event.at), 1))
                if attempt in ended_at:
                    changes[subscription].append((ended_at[attempt], -1))
        self._free_again = {
            subscription: list(_free_again(sorted(of_one), evidence.asks[subscription].count))
            for subscription, of_one in changes.items()
            if subscription in evidence.asks and evidence.asks[subscription].verb == "subscribe"
        }

    def free_since(self, taker: Delivery, at: float) -> float:
        """Since when the subscription that was given a message had a place for it; 0: it always had."""
        moments = self._free_again.get(_subscription(taker), [])
        earlier = bisect_right(moments, at)
        return moments[earlier - 1] if earlier else 0.0


def _subscription(delivery: Delivery) -> Subscription:
    return (delivery.event.client, delivery.event.label)


def _free_again(changes: Iterable[tuple[float, int]], most: int) -> Iterator[float]:
    taken = 0
    for at, change in changes:
        if change < 0 and taken == most:
            yield at
        taken += change
