"""What became of messages, as far as histories tell: a peer has no journal to ask."""

from collections.abc import Iterator, Sequence

from faults.evidence import Evidence
from faults.history import Event, Kind
from faults.peers.load import QUEUE, SHARD
from faults.remains import Ending, Fault, Live, Remains


def remains_of(history: Sequence[Event], left: Sequence[str]) -> Remains:
    """What somebody wanted to finish and is not there has ended, as the last attempt that anybody had of it."""
    posted = {event.body: event for event in history if event.kind == Kind.TOLD}
    attempts: dict[int, int] = {}
    endings: dict[int, Ending] = {}
    for event in history:
        if event.kind == Kind.RECEIVED:
            attempts[event.index] = max(event.attempt, attempts.get(event.index, 0))
        elif event.kind in (Kind.SAY, Kind.CONFIRMED):
            endings[event.index] = Ending(SHARD, QUEUE, event.index, "finished", attempts[event.index])
    live = [Live(SHARD, QUEUE, 0, posted[body].index, body) for body in left if body in posted]
    for message in live:
        endings.pop(message.index, None)
    return Remains(live, list(endings.values()))


def ended_by_disconnects(history: Sequence[Event], faults: Sequence[Fault]) -> Iterator[Ending]:
    """Attempts that ended with their connection: when the fault began after which nothing came over it any more."""
    connections = Evidence(history, Remains(), faults).connections
    for event in history:
        connection = connections.get((event.client, event.connection))
        if event.kind == Kind.RECEIVED and connection is not None and connection.ended is not None:
            cuts = [fault.began for fault in faults if connection.last_heard <= fault.began <= connection.ended]
            cut = min(cuts, default=connection.ended)
            yield Ending(SHARD, QUEUE, event.index, "retried", event.attempt, "disconnected", ended_at=cut)
