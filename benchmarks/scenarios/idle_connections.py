"""What a thousand connections cost that do nothing."""

from benchmarks.broker_process import memory_bytes
from benchmarks.clients import connected
from benchmarks.figures import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "idle-connections"
ALLOWED_BYTES = 200_000_000  # for a thousand
AT_MOST = Bar(1.0, at_most=True)
MEGABYTE = 1_000_000  # bytes


def run(stage: Stage, scale: Scale) -> list[Figure]:
    stage.on_broker(open_connections, 1, stage.broker.pid)  # the first one loads code
    before, after = stage.on_broker(open_connections, scale.idle_connections, stage.broker.pid)
    per_thousand = (after - before) * 1000 / scale.idle_connections
    return [
        Figure(
            name="memory for 1,000 idle connections (limit: allowed)",
            unit="MB",
            values=[per_thousand / MEGABYTE],
            limits=[ALLOWED_BYTES / MEGABYTE],
            bar=AT_MOST,
        )
    ]


async def open_connections(url: str, count: int, broker_pid: int) -> tuple[int, int]:
    """The broker's memory before and while that many connections are open, in bytes."""
    before = memory_bytes(broker_pid)
    async with connected(url, count):
        return before, memory_bytes(broker_pid)
