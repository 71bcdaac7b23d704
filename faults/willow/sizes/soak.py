"""The load of a run with faults, without faults, for long, and what is used meanwhile."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from faults.history import Clock
from faults.willow.afterwards import FINISHED
from faults.willow.cluster import FaultyCluster
from faults.willow.crowd import Terms, WillowCrowd
from faults.willow.load.queues import QUEUES, bulk_queues
from faults.willow.sizes import Extent
from faults.willow.sizes.figures import Row, Usage, megabytes, usage

RATE, SEED = 100.0, 1
STREAM_SECONDS = 60.0  # that messages of streams stay: whatever is kept for good would grow
WARM_UP_PART = 0.1
OPEN_PART, OPEN_MINUTES = 0.3, 10.0  # when the transaction begins, and for how long it stays at most


def soak(cluster: FaultyCluster, extent: Extent) -> Iterator[Row]:
    seconds = extent.minutes * 60 * extent.scale
    bulk = bulk_queues(round(seconds * extent.bulk_rate))
    names = [queue.name for queue in bulk]
    cluster.make_queues([*QUEUES, *bulk])
    cluster.query("UPDATE queues_queue SET retention_seconds = %s WHERE kind = 'stream'", STREAM_SECONDS)
    histories = cluster.folder / "histories"
    histories.mkdir()
    crowd = WillowCrowd(Terms(cluster.urls, SEED, RATE, names, extent.bulk_rate), histories, Clock())
    try:
        crowd.start_all()
        yield from _watch(cluster, names, seconds)
    finally:
        crowd.kill_all()


def _watch(cluster: FaultyCluster, bulk: list[str], seconds: float) -> Iterator[Row]:
    open_seconds = min(OPEN_MINUTES * 60, seconds * OPEN_PART)
    marks = {
        "after warm-up": seconds * WARM_UP_PART,
        "before the open transaction": seconds * OPEN_PART,
        "at its end": seconds * OPEN_PART + open_seconds,
        "as long after it": seconds * OPEN_PART + 2 * open_seconds,
        "at the end": seconds,
    }
    began = time.monotonic()
    yield "minutes, and of these with an open transaction", f"{seconds / 60:.1f}, {open_seconds / 60:.1f}"
    for name, moment in marks.items():
        if name == "at its end":
            with _open_transaction(cluster):
                _sleep_until(began + moment)
                yield name, _text(usage(cluster), usage(cluster, "delivery_message"))
        else:
            _sleep_until(began + moment)
            yield name, _text(usage(cluster), usage(cluster, "delivery_message"))
    (ended,) = cluster.query(FINISHED, bulk)[0]
    yield "messages worked off in bulk", f"{ended:,} ({ended / seconds:,.0f} a second)"


@contextmanager
def _open_transaction(cluster: FaultyCluster) -> Iterator[None]:
    with cluster.connect() as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM queues_queue")
        yield
        connection.execute("ROLLBACK")


def _sleep_until(moment: float) -> None:
    time.sleep(max(moment - time.monotonic(), 0.0))


def _text(all_of: Usage, messages: Usage) -> str:
    return (
        f"brokers {megabytes(all_of.brokers)}, reapers {megabytes(all_of.reapers)}, {all_of.descriptors} descriptors; "
        f"tables {megabytes(all_of.tables)}, indexes {megabytes(all_of.indexes)}, of which messages "
        f"{megabytes(messages.tables)} and {megabytes(messages.indexes)}; {all_of.dead_rows:,} dead rows, "
        f"{all_of.vacuums} autovacuums"
    )
