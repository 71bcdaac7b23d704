"""Draining a queue in which a million messages wait, against one in which ten thousand do."""

from benchmarks.alternation import alternate
from benchmarks.draining import drain
from benchmarks.figures import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "backlog"
LONG = "backlog-long"
SHORT = "backlog-short"
BODY_SIZE = 100  # bytes
AT_LEAST = Bar(0.8)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    stage.clear()
    stage.fill(stage.define(LONG), messages=scale.backlog, body_size=BODY_SIZE)
    short_id = stage.define(SHORT)

    def drain_from_long() -> float:
        return stage.on_broker(drain, LONG, scale.short_backlog)

    def drain_from_short() -> float:
        stage.fill(short_id, messages=scale.short_backlog, body_size=BODY_SIZE)
        return stage.on_broker(drain, SHORT, scale.short_backlog)

    values, limits = alternate(scale.runs, drain_from_long, drain_from_short)
    name = f"drain with {scale.backlog:,} waiting (limit: with {scale.short_backlog:,})"
    return [Figure(name=name, unit="messages/s", values=values, limits=limits, bar=AT_LEAST)]
