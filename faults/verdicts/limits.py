"""More messages out at once than was allowed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from faults.evidence import Delivery, Evidence
from faults.history import Event, Kind
from faults.verdicts import Finding
from faults.verdicts.claims import SLACK_SECONDS, ending_of_attempt


def in_flight_exceeded(evidence: Evidence) -> Iterator[Finding]:
    """Of a subscription; of a queue (`max_in_flight`); of a group (`group_in_flight`)."""
    yield from _of_subscriptions(evidence)
    by_shard: dict[int, list[Delivery]] = defaultdict(list)
    for deliveries in evidence.deliveries.values():
        by_shard[deliveries[0].event.shard] += deliveries
    for queue in evidence.remains.queues:
        if queue.in_flight_limit is not None:
            yield from _exceeded(evidence, by_shard[queue.shard], queue.in_flight_limit, queue.queue)
        if queue.group_limit is not None:
            by_group: dict[str, list[Delivery]] = defaultdict(list)
            for delivery in by_shard[queue.shard]:
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
    """By when clients received messages and until when they held them. One finding of each kind is enough."""
    changes = [(delivery.event.at, 1, number, delivery) for number, delivery in enumerate(deliveries)]
    changes += [(_released_at(evidence, each), 0, number, each) for _, _, number, each in changes]
    held: dict[int, Delivery] = {}
    found: set[str] = set()
    for at, is_received, number, delivery in sorted(changes, key=lambda change: change[:3]):
        if not is_received:
            held.pop(number, None)
        elif at < _released_at(evidence, delivery):  # not one that came too late to be held
            held[number] = delivery
        if len(held) > limit:
            oldest = min(each.event.at for each in held.values())
            crashed = evidence.crashed_between(oldest - SLACK_SECONDS, at)
            explained = "the storage crashed before a claim was flushed" if crashed else ""
            if explained not in found:
                found.add(explained)
                yield Finding(f"{len(held)} messages of {whose} were held at once, and {limit} are allowed.", explained)


def _released_at(evidence: Evidence, delivery: Delivery) -> float:
    """When the client knew that it held the message no more; or when the broker did, having lost the client."""
    ending = ending_of_attempt(evidence, delivery.event)
    if ending is not None and ending.reason == "disconnected":
        return min(delivery.held_until, ending.ended_at)
    return delivery.held_until
