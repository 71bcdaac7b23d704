"""All verdicts on one run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from faults.evidence import Evidence
from faults.history import Event, Kind
from faults.remains import Fault, Remains
from faults.verdicts import Finding
from faults.verdicts.claims import (
    double_claims,
    duplicates,
    finished_twice,
    popped_twice,
    redelivered_after_finish,
    stale_finishes,
)
from faults.verdicts.limits import in_flight_exceeded
from faults.verdicts.losses import ghosts, lost, lost_writes
from faults.verdicts.numbers import ids_of_two_live_messages, indexes_twice, journal_adds_up
from faults.verdicts.order import order_of_groups, order_of_posts, order_of_queues
from faults.verdicts.replies import wrong_replies
from faults.verdicts.streams import order_of_streams, repeats_after_acknowledgement, stream_gaps
from faults.verdicts.waiting import stuck, unanswered

Judge = Callable[[Evidence], Iterator[Finding]]

SAFETY: dict[str, Judge] = {
    "lost": lost,
    "lost writes": lost_writes,
    "double claims": double_claims,
    "finished twice": finished_twice,
    "popped twice": popped_twice,
    "redelivered after a finish told `sync`": redelivered_after_finish,
    "ghosts": ghosts,
    "stale finishes taken": stale_finishes,
    "order of posts broken": order_of_posts,
    "order of groups broken": order_of_groups,
    "order of streams broken": order_of_streams,
    "stream gaps": stream_gaps,
    "repeats after acknowledgement": repeats_after_acknowledgement,
    "IDs of two live messages": ids_of_two_live_messages,
    "indexes twice": indexes_twice,
    "journal does not add up": journal_adds_up,
    "duplicates": duplicates,
    "limits exceeded": in_flight_exceeded,
    "wrong replies": wrong_replies,
}
# These depend on how fast the machine is.
TIMES: dict[str, Judge] = {
    "order of queues broken": order_of_queues,
    "stuck": stuck,
    "unanswered": unanswered,
}
OF_CONNECTIONS = (Kind.CONNECTED, Kind.LOST, Kind.KILLED)


@dataclass(frozen=True, slots=True)
class Verdict:
    name: str
    broken: list[str]  # findings that nothing explains
    explained: Counter[str]  # the others, by why they are allowed


@dataclass(frozen=True, slots=True)
class Judgement:
    verdicts: list[Verdict]
    counts: Counter[str]  # events by kind

    @property
    def holds(self) -> bool:
        return not any(verdict.broken for verdict in self.verdicts)

    def __getitem__(self, name: str) -> Verdict:
        return next(verdict for verdict in self.verdicts if verdict.name == name)


def check(
    history: Sequence[Event], remains: Remains, faults: Sequence[Fault] = (), *, judges: dict[str, Judge] | None = None
) -> Judgement:
    return judge(Evidence(history, remains, faults), judges)


def judge(evidence: Evidence, judges: dict[str, Judge] | None = None) -> Judgement:
    chosen = SAFETY | TIMES if judges is None else judges
    counts = Counter(event.kind.value for event in evidence.history if event.kind != Kind.READY)
    return Judgement([_verdict(name, found_by(evidence)) for name, found_by in chosen.items()], counts)


def together(judgements: Sequence[Judgement]) -> Judgement:
    """Of a run that was judged queue by queue. Only the first counts connections: it has those of all clients."""
    counts = Counter(judgements[0].counts)
    for other in judgements[1:]:
        counts += Counter({kind: count for kind, count in other.counts.items() if kind not in OF_CONNECTIONS})
    return Judgement([_all_of(same) for same in zip(*(one.verdicts for one in judgements), strict=True)], counts)


def _all_of(verdicts: Sequence[Verdict]) -> Verdict:
    broken = [about for verdict in verdicts for about in verdict.broken]
    return Verdict(verdicts[0].name, broken, sum((verdict.explained for verdict in verdicts), Counter()))


def _verdict(name: str, findings: Iterable[Finding]) -> Verdict:
    verdict = Verdict(name, [], Counter())
    for finding in findings:
        if finding.explained:
            verdict.explained[finding.explained] += 1
        else:
            verdict.broken.append(finding.about)
    return verdict
