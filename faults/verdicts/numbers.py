"""IDs and indexes, and whether the journal adds up."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from faults.evidence import Evidence, MessageKey
from faults.history import Event, Kind
from faults.verdicts import Finding


def indexes_twice(evidence: Evidence) -> Iterator[Finding]:
    """An index that a client has seen was given to another message."""
    bodies: dict[MessageKey, dict[str, Event]] = defaultdict(dict)
    for post in evidence.posts.values():
        for notice in post.told:
            if notice.index:
                bodies[notice.message].setdefault(post.event.body, notice)
    for event in evidence.of_kind(Kind.RECEIVED):
        if event.index:
            bodies[event.message].setdefault(event.body, event)
    for (shard, index), seen in bodies.items():
        if len(seen) > 1:
            yield Finding(f"{shard}/{index} was given to {len(seen)} messages: {', '.join(map(repr, sorted(seen)))}.")


def ids_of_two_live_messages(evidence: Evidence) -> Iterator[Finding]:
    lives: dict[tuple[int, int], list[tuple[float, float, int]]] = defaultdict(list)
    known = {notice.message: notice for post in evidence.posts.values() for notice in post.told if notice.index}
    for message, notice in known.items():
        endings = [ending for ending in evidence.endings.get(message, ()) if ending.is_last]
        live = evidence.live.get(message)
        if endings:
            lives[notice.shard, notice.sequence].append((endings[0].posted_at, endings[0].ended_at, notice.index))
        elif live is not None:
            lives[notice.shard, notice.sequence].append((live.posted_at, float("inf"), notice.index))
    for (shard, sequence), spans in lives.items():
        for (_, ended, first), (posted, _, second) in pairwise(sorted(spans)):
            if posted < ended:
                yield Finding(
                    f"The ID {shard}/{sequence} was that of the indexes {first} and {second} at once, "
                    f"for {ended - posted:.3f} s."
                )


def journal_adds_up(evidence: Evidence) -> Iterator[Finding]:
    """Each message that was told of lives or has ended once; each attempt but the last has a row; counts agree."""
    for message, endings in evidence.endings.items():
        attempts = Counter(ending.attempt for ending in endings if not ending.is_last)
        again = [attempt for attempt, rows in attempts.items() if rows > 1]
        if again:
            yield Finding(f"{message[0]}/{message[1]} has two rows for attempt {again[0]}.")
        if message in evidence.live and any(ending.is_last for ending in endings):
            yield Finding(f"{message[0]}/{message[1]} has ended in the journal and lives.")
        last = max(ending.attempt for ending in endings)
        missing = set(range(1, last)) - {ending.attempt for ending in endings}
        if missing:
            yield Finding(f"{message[0]}/{message[1]} has no row for attempt {min(missing)}.")
    live = Counter(message.shard for message in evidence.remains.live)
    for queue in evidence.remains.queues:
        counted = queue.newest_index - queue.ended
        if counted != live[queue.shard]:
            yield Finding(f"{queue.queue} counts {counted} live messages and has {live[queue.shard]}.")
