"""How soon a message came to somebody else when the client that held it had gone, or was silent for too long."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from faults.evidence import Delivery, Evidence
from faults.places import Places

GONE, SILENT = "disconnected", "timeout"  # reasons in the journal


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A message that came to `taker` at the moment `at`, so many seconds after `holder` should have lost it."""

    seconds: float
    holder: str
    taker: str
    at: float


def after_disconnects(evidence: Evidence) -> Iterator[HandedOver]:
    """Seconds from the disconnect, from the end of a fault or from when the taker waited, whichever is last."""
    places = Places(evidence)
    for first, second, handed_out in _handed_over(evidence, GONE):
        connection = evidence.connections.get((first.event.client, first.connection))
        if connection is None or connection.ended is None:
            continue
        lost = connection.ended
        in_between = [fault.ended for fault in evidence.faults if fault.began <= handed_out and lost <= fault.ended]
        begins = max(lost, _waits_since(evidence, places, second), *in_between)
        if begins <= second.event.at:
            yield _since(begins, first, second, handed_out)


def after_leases(evidence: Evidence) -> Iterator[HandedOver]:
    """Seconds from the end of the claim, where no fault was in the way: one of a broker lets claims begin again."""
    places = Places(evidence)
    for first, second, handed_out in _handed_over(evidence, SILENT):
        if not any(fault.began <= handed_out and first.event.at <= fault.ended for fault in evidence.faults):
            begins = max(first.lease_until, _waits_since(evidence, places, second))
            yield _since(begins, first, second, handed_out)


def _since(begins: float, first: Delivery, second: Delivery, handed_out: float) -> HandedOver:
    return HandedOver(max(handed_out - begins, 0.0), first.event.client, second.event.client, handed_out)


def _waits_since(evidence: Evidence, places: Places, taker: Delivery) -> float:
    """Since when who got it had asked for it and had room for it: before, there may have been nobody to give it to."""
    ask = evidence.asks.get((taker.event.client, taker.event.label))
    connection = evidence.connections.get((taker.event.client, taker.event.connection))
    asked = max(ask.at if ask else 0.0, connection.began if connection else 0.0)
    return max(asked, places.free_since(taker, taker.event.at))


def _handed_over(evidence: Evidence, reason: str) -> Iterator[tuple[Delivery, Delivery, float]]:
    """Deliveries one after the other, of which the first ended like this; and when the second was handed out.

    Not in queues with limits: there a message may have to wait for its place.
    """
    for message, deliveries in evidence.deliveries.items():
        queue = evidence.queues.get(message[0])
        if queue is not None and (queue.in_flight_limit is not None or queue.group_limit is not None):
            continue
        reasons = {ending.attempt: ending.reason for ending in evidence.endings.get(message, ()) if not ending.is_last}
        for first, second in pairwise(deliveries):
            if second.event.attempt == first.event.attempt + 1 and reasons.get(first.event.attempt) == reason:
                assigned = evidence.assigned_at.get((*message, second.event.attempt), second.event.at)
                yield first, second, min(assigned, second.event.at)
