"""Messages and commands that waited for longer than they may."""

from collections import defaultdict
from collections.abc import Iterator

from faults.evidence import Evidence, MessageKey
from faults.history import Event, Kind
from faults.verdicts import Finding

STUCK_SECONDS = 2.0
ANSWER_SECONDS = 35.0  # the statement timeout of 30 s, and the way there and back

Span = tuple[float, float]


def stuck(evidence: Evidence) -> Iterator[Finding]:
    """Ready, while somebody waited all the time, for more than 2 s, and no fault was in the way."""
    waits = _waits(evidence)
    for message, (began, ended, queue) in _ready_spans(evidence):
        for since, until in waits.get(queue, ()):
            both = min(ended, until) - max(began, since)
            if both > STUCK_SECONDS and evidence.is_calm(max(began, since), min(ended, until)):
                yield Finding(f"{message[0]}/{message[1]} in {queue} was ready for {both:.1f} s while somebody waited.")
                break


def _ready_spans(evidence: Evidence) -> Iterator[tuple[MessageKey, tuple[float, float, str]]]:
    """From the first to the last time that the observer saw a message ready, without a delivery in between."""
    seen: dict[tuple[MessageKey, int], list[Event]] = defaultdict(list)
    for event in evidence.of_kind(Kind.READY):
        seen[event.message, event.attempt].append(event)
    for (message, _), events in seen.items():
        yield message, (events[0].at, events[-1].at, events[0].queue)


def _waits(evidence: Evidence) -> dict[str, list[Span]]:
    """By queue: when a client with a fetch or pop under way got nothing for long."""
    waits: dict[str, list[Span]] = defaultdict(list)
    under_way: dict[tuple[str, int | None], Event] = {}
    ends = (Kind.RECEIVED, Kind.NOTHING, Kind.REFUSED)
    lost: dict[str, list[tuple[str, int | None]]] = defaultdict(list)
    for event in evidence.history:
        if event.kind == Kind.ASK and event.verb in ("fetch", "pop"):
            under_way[event.client, event.label] = event
            lost[event.client].append((event.client, event.label))
        elif event.kind in ends and (asked := under_way.pop((event.client, event.label), None)) is not None:
            if event.at - asked.at > STUCK_SECONDS:
                waits[asked.queue].append((asked.at, event.at))
        elif event.kind == Kind.LOST:
            for key in lost.pop(event.client, ()):
                under_way.pop(key, None)
    return waits


def unanswered(evidence: Evidence) -> Iterator[Finding]:
    """A command without an answer for longer than the statement timeout, over a connection that was there."""
    answers: dict[tuple[str, int | None], float] = {}
    for event in evidence.of_kind(Kind.TOLD, Kind.NOTHING, Kind.RECEIVED, Kind.CONFIRMED, Kind.REFUSED):
        answers.setdefault((event.client, event.label), event.at)
    for event in evidence.of_kind(Kind.POST, Kind.ASK, Kind.SAY):
        if event.label is None or (event.kind == Kind.ASK and event.verb == "subscribe"):
            continue
        connection = evidence.connections.get((event.client, event.connection))
        gone = connection.ended if connection and connection.ended is not None else evidence.end
        due = event.at + event.seconds + ANSWER_SECONDS
        if min(answers.get((event.client, event.label), gone), gone) > due:
            waited = min(answers.get((event.client, event.label), gone), gone) - event.at
            yield Finding(f"{event.client} had no answer to a {event.verb or event.kind.value} for {waited:.0f} s.")
