"""What the readers of streams got: everything, in order, and nothing again that they had acknowledged."""

from collections import defaultdict
from collections.abc import Iterator

from faults.evidence import Evidence
from faults.history import Event, Kind
from faults.verdicts import Finding

Reader = tuple[str, int]  # client and shard


def _received(evidence: Evidence) -> dict[Reader, list[Event]]:
    received: dict[Reader, list[Event]] = defaultdict(list)
    for event in evidence.of_kind(Kind.RECEIVED):
        if event.shard in evidence.streams:
            received[event.client, event.shard].append(event)
    return received


def stream_gaps(evidence: Evidence) -> Iterator[Finding]:
    """A message between the first and the last that a reader received, which it never received."""
    stored: dict[int, list[int]] = defaultdict(list)
    for shard, index in sorted(evidence.live):
        if shard in evidence.streams:
            stored[shard].append(index)
    for (reader, shard), events in _received(evidence).items():
        indexes = {event.index for event in events}
        first, last = min(indexes), max(indexes)
        for index in stored[shard]:
            if first < index < last and index not in indexes:
                yield Finding(f"{reader} received {shard}/{first} to {shard}/{last}, but never {shard}/{index}.")


def order_of_streams(evidence: Evidence) -> Iterator[Finding]:
    """On one connection, messages come by ascending index, but for those that are sent again."""
    for (reader, shard), events in _received(evidence).items():
        newest: dict[int, int] = {}
        seen: set[int] = set()
        for event in events:
            before = newest.get(event.connection, 0)
            if event.index < before and event.index not in seen:
                yield Finding(f"{reader} received {shard}/{event.index} for the first time after {shard}/{before}.")
            seen.add(event.index)
            newest[event.connection] = max(before, event.index)


def repeats_after_acknowledgement(evidence: Evidence) -> Iterator[Finding]:
    acknowledged: dict[tuple[str, int, int], Event] = {}
    for one in evidence.said:
        if one.event.verb == "finish" and one.event.shard in evidence.streams and one.confirmed:
            acknowledged[one.event.client, one.event.shard, one.event.index] = one.confirmed[-1]
    for (reader, shard), events in _received(evidence).items():
        for event in events:
            told = acknowledged.get((reader, shard, event.index))
            if told is not None and event.at > told.at:
                taken_back = told.stage != "sync" and evidence.may_be_taken_back(told.at)
                yield Finding(
                    f"{reader} received {shard}/{event.index} again after it was told that its acknowledgement counts.",
                    "the storage crashed before the acknowledgement was flushed" if taken_back else "",
                )
