"""What Willow's database holds, in the checker's terms."""

from collections.abc import Collection
from typing import Any

from faults.remains import Ending, Live, QueueRemains, Remains
from faults.willow.cluster import FaultyCluster

QUEUES = """
    SELECT q.id, q.name, c.newest_index, coalesce(e.ended, 0), q.kind = 'stream', q.max_in_flight, q.group_in_flight
    FROM queues_queue q JOIN queues_counter c ON c.queue_id = q.id
    LEFT JOIN (SELECT queue_id, sum(messages)::bigint AS ended FROM delivery_endedcount GROUP BY 1) e
    ON e.queue_id = q.id
    WHERE q.id = ANY(%s)
"""
LIVE = """
    SELECT m.queue_id, q.name, m.sequence, m.index, convert_from(m.body, 'UTF8'), m.attempts, m.priority,
           extract(epoch FROM m.posted_at)::float8, extract(epoch FROM m.assigned_at)::float8,
           m.origin_queue_id, m.origin_index
    FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id
    WHERE q.id = ANY(%s)
"""
ENDINGS = """
    SELECT queue_id, queue_name, index, outcome, attempt, coalesce(reason, ''), convert_from(body, 'UTF8'), priority,
           extract(epoch FROM posted_at)::float8, extract(epoch FROM assigned_at)::float8,
           extract(epoch FROM ended_at)::float8
    FROM delivery_journal WHERE queue_id = ANY(%s) ORDER BY id
"""
# Not in queues where a limit may hold them back, nor in those that are only subscribed to, in bulk.
READY_NOW = """
    SELECT m.queue_id, q.name, m.index, m.attempts FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id
    WHERE m.state = 0 AND m.posted_at < now() - interval '1 second' AND q.kind = 'work' AND NOT q.name LIKE '%%.dead'
    AND q.max_in_flight IS NULL AND q.group_in_flight IS NULL AND NOT q.name = ANY(%s)
    ORDER BY m.posted_at LIMIT 100
"""
UNFINISHED = """
    SELECT count(*) FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id
    WHERE q.kind = 'work' AND NOT q.name LIKE '%%.dead'
"""


UNFINISHED_BY_QUEUE = """
    SELECT q.name, count(*) FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id
    WHERE q.kind = 'work' AND NOT q.name LIKE '%%.dead' GROUP BY 1 ORDER BY 2 DESC
"""
# Not by delivery_endedcount: indexes that a crash of the storage made queues leave out count as ended there.
FINISHED = """
    SELECT count(*) FROM delivery_journal WHERE queue_name = ANY(%s) AND outcome = 'finished'
"""


def read_remains(cluster: FaultyCluster, names: Collection[str], *, others: bool = False) -> Remains:
    """Of the queues with these names; or of all others."""
    queues = cluster.query("SELECT id, name FROM queues_queue")
    chosen = [number for number, name in queues if (name in names) != others]
    return Remains(
        live=[_live(row) for row in cluster.query(LIVE, chosen)],
        endings=[Ending(*row) for row in cluster.query(ENDINGS, chosen)],
        queues=[QueueRemains(*row) for row in cluster.query(QUEUES, chosen)],
    )


def _live(row: tuple[Any, ...]) -> Live:
    *columns, origin_queue, origin_index = row
    values = (*columns, None if origin_queue is None else (origin_queue, origin_index))
    return Live(*values)
