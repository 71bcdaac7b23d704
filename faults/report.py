"""The table of a run, for people."""

from collections.abc import Iterator, Sequence

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
