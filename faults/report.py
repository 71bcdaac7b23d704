"""The table of a run, for people."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from faults.checker import Judgement
from faults.remains import Fault

MOST_SHOWN = 5  # findings of each verdict


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
    recovered: Sequence[float | None], faults: Sequence[Fault], disconnected: Sequence[float], leases: Sequence[float]
) -> str:
    """`recovered`: for each fault, None if it took too long to be seen."""
    known = [after if after is not None else float("inf") for after in recovered]
    rows = (
        ("throughput back to 95 %, after a fault's end", 10.0, known),
        ("claims of a client that has gone, with somebody else", 2.0, disconnected),
        ("claims of a silent client, with somebody else, after their end", 2.0, leases),
    )
    lines = [
        "| seconds | bar | how often | median | 99 of 100 | most | over the bar |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, bar, seconds in rows:
        figures = " | ".join(f"{figure:.1f}" for figure in _middle_and_most(seconds)) or "- | - | -"
        lines.append(f"| {name} | {bar:g} | {len(seconds)} | {figures} | {sum(each > bar for each in seconds)} |")
    return "\n".join([*lines, "", *_recovery_by_fault(known, faults)])


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
