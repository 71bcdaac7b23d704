"""Draining a queue through which a million messages went since PostgreSQL last vacuumed its table."""

from benchmarks.draining import drain
from benchmarks.figures import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "dead-rows"
QUEUE = "dead-rows"
BODY_SIZE = 100  # bytes
AT_LEAST = Bar(0.8)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    queue_id = stage.define(QUEUE)

    def drain_freshly_filled() -> list[float]:
        speeds = []
        for _ in range(scale.runs):
            stage.fill(queue_id, messages=scale.short_backlog, body_size=BODY_SIZE)
            speeds.append(stage.on_broker(drain, QUEUE, scale.short_backlog))
        return speeds

    stage.clear()
    clean = drain_freshly_filled()
    stage.execute("ALTER TABLE delivery_message SET (autovacuum_enabled = off)")
    try:
        stage.pass_through(queue_id, messages=scale.backlog, body_size=BODY_SIZE)
        littered = drain_freshly_filled()
    finally:
        stage.execute("ALTER TABLE delivery_message RESET (autovacuum_enabled)")
    name = f"drain after {scale.backlog:,} finished and no vacuum (limit: before)"
    return [Figure(name=name, unit="messages/s", values=littered, limits=clean, bar=AT_LEAST)]
