"""More messages out at once than was allowed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from faults.evidence import Delivery, Evidence
from faults.history import Event, Kind
from faults.verdicts import Finding


def in_flight_exceeded(evidence: Evidence) -> Iterator[Finding]:
    """Of a subscription; of a queue (`max_in_flight`); of a group (`group_in_flight`)."""
    yield from _of_subscriptions(evidence)
    for queue in evidence.remains.queues:
        deliveries = [each for key, all_of in evidence.deliveries.items() if key[0] == queue.shard for each in all_of]
        if queue.in_flight_limit is not None:
            yield from _exceeded(evidence, deliveries, queue.in_flight_limit, queue.queue)
        if queue.group_limit is not None:
            by_group: dict[str, list[Delivery]] = defaultdict(list)
            for delivery in deliveries:
                if delivery.event.group:
                    by_group[delivery.event.group].append(delivery)
            for group, members in by_group.items():
                yield from _exceeded(evidence, members, queue.group_limit, f"the group {group} of {queue.queue}")


def _of_subscriptions(evidence: Evidence) -> Iterator[Finding]:
    limits: dict[tuple[str, int, int | None], Event] = {
        (event.client, event.connection, event.label): event
        for event in evidence.of_kind(Kind.ASK)
        if event.verb == "subscribe"
    }
    received: dict[tuple[str, int, int | None], list[Delivery]] = defaultdict(list)
    for deliveries in evidence.deliveries.values():
        for delivery in deliveries:
            key = (delivery.event.client, delivery.event.connection, delivery.event.label)
            if key in limits:
                received[key].append(delivery)
    for key, deliveries_of in received.items():
        yield from _exceeded(evidence, deliveries_of, limits[key].count, f"a subscription of {key[0]}")


def _exceeded(evidence: Evidence, deliveries: Iterable[Delivery], limit: int, whose: str) -> Iterator[Finding]:
    """By when clients received messages and until when they held them. One finding is enough."""
    changes = [(delivery.event.at, 1) for delivery in deliveries]
    changes += [(delivery.held_until, -1) for delivery in deliveries]
    held = 0
    for at, change in sorted(changes):
        held += change
        if held > limit:
            crashed = any(fault.began <= at for fault in evidence.crashes)
            yield Finding(
                f"{held} messages of {whose} were held at once, and {limit} are allowed.",
                "the storage crashed before a claim was flushed" if crashed else "",
            )
            return
