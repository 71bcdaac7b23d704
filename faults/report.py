"""The table of a run, for people."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from statistics import median

from faults.checker import Judgement
from faults.redelivery import HandedOver
from faults.remains import Fault

MOST_SHOWN = 5  # findings of each verdict
GONE = "claims of a client that has gone, with somebody else"
SILENT = "claims of a silent client, with somebody else, after their end"
REDELIVERED_SECONDS = 2.0
TOGETHER_SECONDS = 5.0  # what comes over within so long is told in one line


def table(judgement: Judgement) -> str:
    """In Markdown: what was found, and what of it is allowed, and why."""
    lines = ["| verdict | broken | allowed, and why |", "|---|---|---|"]
    for verdict in judgement.verdicts:
        allowed = "; ".join(f"{count}: {why}" for why, count in verdict.explained.most_common())
        lines.append(f"| {verdict.name} | {len(verdict.broken)} | {allowed} |")
    return "\n".join(lines)


def findings(judgement: Judgement) -> Iterator[str]:
    """The first of what is broken, by verdict."""
    for verdict in judgement.verdicts:
        for about in verdict.broken[:MOST_SHOWN]:
            yield f"{verdict.name}: {about}"
        if len(verdict.broken) > MOST_SHOWN:
            yield f"{verdict.name}: and {len(verdict.broken) - MOST_SHOWN} more"


def summary(judgement: Judgement, faults: Sequence[Fault]) -> str:
    counts = judgement.counts
    return (
        f"{len(faults)} faults, {counts['post']} posts, {counts['told']} notices, {counts['received']} messages "
        f"received, {counts['say']} finishes, fails, releases and keepalives, {counts['refused']} refusals, "
        f"{counts['lost']} connections lost"
    )


def table_of_times(
    recovered: Sequence[float | None],
    faults: Sequence[Fault],
    disconnected: Sequence[HandedOver],
    leases: Sequence[HandedOver],
) -> str:
    """`recovered`: for each fault, None if it took too long to be seen."""
    known = [after if after is not None else float("inf") for after in recovered]
    rows = (
        ("throughput back to 95 %, after a fault's end", 10.0, known),
        (GONE, REDELIVERED_SECONDS, [each.seconds for each in disconnected]),
        (SILENT, REDELIVERED_SECONDS, [each.seconds for each in leases]),
    )
    lines = [
        "| seconds | bar | how often | median | 99 of 100 | most | over the bar |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, bar, seconds in rows:
        figures = " | ".join(f"{figure:.1f}" for figure in _middle_and_most(seconds)) or "- | - | -"
        lines.append(f"| {name} | {bar:g} | {len(seconds)} | {figures} | {sum(each > bar for each in seconds)} |")
    late = [*_late(GONE, disconnected), *_late(SILENT, leases)]
    return "\n".join([*lines, "", *_recovery_by_fault(known, faults), *late])


def _late(what: str, handed_over: Sequence[HandedOver]) -> Iterator[str]:
    """Those over the bar, of each client that had lost them one line, so that they can be looked into."""
    late: dict[tuple[str, int], list[HandedOver]] = defaultdict(list)
    for each in handed_over:
        if each.seconds > REDELIVERED_SECONDS:
            late[each.holder, round(each.at / TOGETHER_SECONDS)].append(each)
    for (holder, _), several in late.items():
        worst = max(several, key=lambda each: each.seconds)
        when = datetime.fromtimestamp(worst.at).strftime("%H:%M:%S")
        latest = f"the latest after {worst.seconds:.1f} s at {when} to {worst.taker}"
        yield f"late: {what}: {len(several)} of {holder}, {latest}"


def _middle_and_most(seconds: Sequence[float]) -> list[float]:
    ordered = sorted(seconds)
    return [median(ordered), ordered[len(ordered) * 99 // 100], ordered[-1]] if ordered else []


def _recovery_by_fault(recovered: Sequence[float], faults: Sequence[Fault]) -> Iterator[str]:
    """The slowest first."""
    by_name: dict[str, list[float]] = defaultdict(list)
    for after, fault in zip(recovered, faults, strict=True):
        by_name[fault.name].append(after)
    yield "| fault (alone or with others) | how often | throughput back after, median | most |"
    yield "|---|---|---|---|"
    for name, seconds in sorted(by_name.items(), key=lambda one: -max(one[1])):
        yield f"| {name} | {len(seconds)} | {median(seconds):.1f} s | {max(seconds):.1f} s |"
