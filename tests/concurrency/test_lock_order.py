"""Every pair of statements that lock rows of messages, queues and their counts, interleaved: no pair waits in a circle.

A third connection holds one row. The first statement locks what it comes to before that row, and waits; the second one
begins; then the row is let go. If the two lock the same rows in different orders, PostgreSQL finds a deadlock.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle, product
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import AsyncConnection

from delivery.storage.columns import BigintColumn, ByteaColumn, Float8Column, TextColumn
from delivery.storage.connection import connect
from delivery.storage.statement_connection import StatementConnection
from delivery.storage.statements import statement
from tests.support.cluster import PATIENCE

QUEUES = (1, 2)
CLAIMED, READY, DELAYED, BEHIND = (1, 2), (3, 4), (5, 6), (7, 8)  # sequences in each queue
EMPTY_QUEUE = 3
SCHEDULES = (1, 2)
HOLDER, POSTER = 7, 8
# Later rows first, so that an index with equal keys gives them in another order than that of their IDs.
FILL = f"""
    DELETE FROM delivery_message; DELETE FROM delivery_endedcount; DELETE FROM queues_queue;
    DELETE FROM delivery_schedule;
    INSERT INTO delivery_schedule (id, name, queue, tags, message, headers, every, next_due_at)
    SELECT id, 'schedule-' || id, 'queue-1', '{{}}', 'x', '{{}}', 60, now() - id * interval '1 second'
    FROM unnest(ARRAY{list(SCHEDULES[::-1])}) AS id;
    INSERT INTO queues_queue (id, name, tags, kind, retry_limit, heartbeat_timeout, retry_delay, retry_backoff,
                              retry_delay_max, overflow, updatable, keep_bodies, retention_acked, paused)
    SELECT id, 'queue-' || id, '{{}}', 'work', 3, 300, 0, 2, 300, 'reject', false, false, false, false
    FROM unnest(ARRAY{list((*QUEUES, EMPTY_QUEUE)[::-1])}) AS id;
    UPDATE queues_counter SET newest_index = 8, next_sequence = 20;
    INSERT INTO delivery_endedcount (queue_id, node_id, messages)
    SELECT q, 1, 1 FROM unnest(ARRAY{list(QUEUES[::-1])}) AS q;
    INSERT INTO delivery_message (queue_id, sequence, index, priority, state, body, holder, lease_until, available_at,
                                  attempts, work_timeout, poster, poster_node, notify, expires_at, group_key)
    SELECT q, s, s, 0, CASE WHEN s <= 2 THEN 2 WHEN s <= 4 THEN 0 WHEN s <= 6 THEN 1 ELSE 4 END, 'x',
           CASE WHEN s <= 2 THEN {HOLDER} END, CASE WHEN s <= 2 THEN now() END,
           CASE WHEN s IN (5, 6) THEN now() END, 1, 300, {POSTER}, 1, 0, now(), 'g'
    FROM unnest(ARRAY{list(QUEUES[::-1])}) AS q, generate_series(8, 1, -1) AS s ORDER BY q DESC, s DESC;
"""
HELD_ROWS = (
    *(f"SELECT 1 FROM delivery_schedule WHERE id = {schedule} FOR UPDATE" for schedule in SCHEDULES),
    *(f"SELECT 1 FROM queues_queue WHERE id = {queue} FOR UPDATE" for queue in QUEUES),
    *(f"SELECT 1 FROM queues_counter WHERE queue_id = {queue} FOR UPDATE" for queue in (*QUEUES, EMPTY_QUEUE)),
    *(f"SELECT 1 FROM delivery_endedcount WHERE queue_id = {queue} FOR UPDATE" for queue in QUEUES),
    *(
        f"SELECT 1 FROM delivery_message WHERE queue_id = {queue} AND sequence = {sequence} FOR UPDATE"
        for queue in QUEUES
        for sequence in (*CLAIMED, *READY, *DELAYED, *BEHIND)
    ),
)
WAITS = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"


def ids(*sequences: int) -> dict[str, Any]:
    """Messages in ascending order, as everybody has to name them."""
    named = [(queue, sequence) for queue in QUEUES for sequence in sequences]
    count = len(named)
    return {
        "queue_id": BigintColumn([queue for queue, _ in named]),
        "sequence": BigintColumn([sequence for _, sequence in named]),
        "index": BigintColumn([sequence for _, sequence in named]),
        "holder": BigintColumn([HOLDER] * count),
        "client": TextColumn([None] * count),
        "reply": ByteaColumn([None] * count),
        "reason": TextColumn(["failed"] * count),
        "error": TextColumn([None] * count),
        "delay": Float8Column([0.0] * count),
        "attempt": BigintColumn([None] * count),
        "final": BigintColumn([0] * count),
        "outcome": "finished",
        "node": 1,
        "node_name": "test",
    }


def demand() -> dict[str, Any]:
    return {
        "queue_id": BigintColumn(QUEUES),
        "first_place": BigintColumn([1, 3]),
        "places": BigintColumn([2, 2]),
        "floor_rank": BigintColumn([-(2**40)] * 2),
        "floor_index": BigintColumn([0, 0]),
        "holder": BigintColumn([HOLDER] * 4),
        "client": TextColumn([None] * 4),
        "work_timeout": Float8Column([-1.0] * 4),
        "node": 1,
        "node_name": "test",
    }


def post() -> dict[str, Any]:
    nothing = [None] * 2
    return {
        "queue_id": BigintColumn(QUEUES),
        "sequence": BigintColumn(nothing),
        "former": BigintColumn(nothing),
        "priority": BigintColumn([0, 0]),
        "body": ByteaColumn([b"x", b"x"]),
        "delay": Float8Column(nothing),
        "ttl": Float8Column(nothing),
        "key": TextColumn(nothing),
        "poster": BigintColumn(nothing),
        "label": BigintColumn(nothing),
        "notify": BigintColumn([0, 0]),
        "work_timeout": Float8Column(nothing),
        "holder": BigintColumn(nothing),
        "index_before": BigintColumn(nothing),
        "node": 1,
    }


def post_to_one() -> dict[str, Any]:
    counted = {"queue_id": QUEUES[0], "sequence": BigintColumn([-1, -2]), "messages": 2, "fresh": 2, "oldest": None}
    return post() | counted


def once() -> dict[str, Any]:
    """Texts that nobody else has: one that is known would not wait, but fail."""
    return {"dedupe": TextColumn([uuid4().hex, uuid4().hex]), "dedupe_seconds": 0.0}


ONE_POST = {
    **dict.fromkeys(("sequence", "former", "delay", "ttl", "key", "poster", "label", "work_timeout", "holder")),
    "index_before": None,
    "queue_id": QUEUES[0],
    "priority": 0,
    "body": b"x",
    "notify": 0,
    "node": 1,
}
ONE_DEMAND = {
    "queue_id": QUEUES[0],
    "places": 2,
    "floor_rank": -(2**40),
    "floor_index": 0,
    "holder": BigintColumn([HOLDER] * 2),
    "work_timeout": Float8Column([-1.0] * 2),
    "node": 1,
}
ONE_FINISH = {
    **dict.fromkeys(("attempt", "client", "reply")),
    "queue_id": QUEUES[0],
    "sequence": CLAIMED[0],
    "index": CLAIMED[0],
    "holder": HOLDER,
    "outcome": "finished",
    "node": 1,
    "node_name": "test",
}
ACROSS = {
    "queue_id": BigintColumn(QUEUES),
    "places": 4,
    "looked_at": 4,
    "evenly": False,
    "holder": HOLDER,
    "work_timeout": None,
    "pops": False,
    "most": BigintColumn([None, None]),
    "node": 1,
}
LIMITED = {"limited": BigintColumn(QUEUES[:1]), "pops": False}
GROUPS = {"queue_id": BigintColumn(QUEUES), "group_key": TextColumn(["g"] * 2), "limit": 100}
EXTRAS = {**dict.fromkeys(("headers", "unique_key"), TextColumn([None] * 2)), "poster_key": BigintColumn([None] * 2)}
BOUNDED = {"now": None, "limit": 100, "node_name": "test", "heartbeat": 1.0}
REPLACED = {
    **{name: value for name, value in ids(*READY).items() if name in ("queue_id", "index", "delay", "node")},
    "priority": BigintColumn([1] * 4),
    "body": ByteaColumn([b"y"] * 4),
    "ttl": Float8Column([None] * 4),
    "poster": BigintColumn([None] * 4),
    "label": BigintColumn([None] * 4),
    "notify": BigintColumn([0] * 4),
    "poster_key": BigintColumn([None] * 4),
    **dict.fromkeys(("headers", "group_key", "unique_key"), TextColumn([None] * 4)),
}
Parameters = Callable[[], Mapping[str, Any]]

STATEMENTS: dict[str, Parameters] = {
    "post": post,
    "post_to_one": post_to_one,
    "post_once": lambda: post() | once(),
    "post_once_to_one": lambda: post_to_one() | once(),
    "post_one": lambda: ONE_POST,
    "post_one_once": lambda: ONE_POST | {"dedupe": uuid4().hex, "dedupe_seconds": 0.0},
    "post_with": lambda: post() | once() | EXTRAS | {"group_key": TextColumn(["g"] * 2), "decided": True},
    "lock_queues": lambda: {"queue_id": list(QUEUES)},
    "claim": demand,
    "claim_from_one": lambda: ONE_DEMAND,
    "pop": demand,
    "claim_across": lambda: ACROSS,
    "claim_limited": lambda: ONE_DEMAND | LIMITED,
    "spend": lambda: LIMITED | {"messages": BigintColumn([1]), "wanted": BigintColumn([1])},
    "arrange_groups": lambda: GROUPS,
    "take_touched_groups": lambda: BOUNDED,
    "next_regrouping": dict,
    "due_schedules": lambda: BOUNDED,
    "step_schedules": lambda: {"schedule_id": list(SCHEDULES), "next_due_at": [None] * len(SCHEDULES)},
    "finish": lambda: ids(*CLAIMED),
    "finish_keeping": lambda: ids(*CLAIMED),
    "finish_one": lambda: ONE_FINISH,
    "retry": lambda: ids(*CLAIMED),
    "keepalive": lambda: ids(*CLAIMED),
    "release": lambda: ids(*CLAIMED),
    "cancel": lambda: {
        "queue_id": BigintColumn([1, 1, 2, 2]),
        "index": BigintColumn([*READY, *READY]),
        "session": BigintColumn([POSTER] * 4),
        "key": BigintColumn([None] * 4),
        "node": 1,
        "node_name": "test",
    },
    "bury": lambda: ids(*CLAIMED, *READY, *DELAYED),
    "restart_leases": lambda: {"holder": [HOLDER], "queue_id": None},
    "hand_claims_over": lambda: {"from": HOLDER, "to": HOLDER + 1},
    "expired_claims": lambda: BOUNDED,
    "expired_messages": lambda: BOUNDED,
    "come_due": lambda: {"queue_id": list(QUEUES), "now": None, "limit": 100},
    "retry_now": lambda: ids(*DELAYED),
    "reprioritise": lambda: ids(*READY, *DELAYED) | {"priority": 5},
    "rewrite": lambda: {"queue_id": 1, "sequence": 1, "index": 1, "body": b"new", "priority": 5},
    "replace": lambda: REPLACED,
    "drop": lambda: ids(*CLAIMED, *READY, *DELAYED) | {"forced": True},
    "drop_oldest": lambda: {
        "queue_id": BigintColumn(QUEUES),
        "messages": BigintColumn([4, 4]),
        "node": 1,
        "node_name": "test",
    },
    "lock_unclaimed": lambda: ids(*READY, *DELAYED) | {"untouched": False},
    "take_out": lambda: ids(*READY, *DELAYED),
    "restart_sequences": lambda: BOUNDED,
    "fold_ended_counts": lambda: BOUNDED,
}


@dataclass(frozen=True)
class Contestants:
    first: StatementConnection
    second: StatementConnection
    holder: AsyncConnection[Any]
    watcher: AsyncConnection[Any]


@pytest.fixture
async def contestants(transactional_db: None) -> AsyncIterator[Contestants]:
    connections = [await connect(application=f"contestant {number}") for number in range(4)]
    for connection in connections:
        await connection.execute("SET deadlock_timeout = '5ms'")
    yield Contestants(*connections)
    await connections[0].execute("TRUNCATE delivery_journal")  # which Django does not empty: it is not its table
    for connection in connections:
        await connection.close()


async def begin(connection: StatementConnection, name: str, watcher: AsyncConnection[Any]) -> asyncio.Task[Any]:
    """Run a statement until it is done, or waits for a lock."""
    parameters = {key: value for key, value in STATEMENTS[name]().items() if f"%({key})" in statement(name)}
    running = asyncio.create_task(_run(connection, statement(name), parameters))
    async with asyncio.timeout(PATIENCE):
        while not running.done():
            waits = await watcher.execute(WAITS, [connection.info.backend_pid])
            if await waits.fetchone():
                break
    return running


async def _run(connection: StatementConnection, query: Any, parameters: Mapping[str, Any]) -> None:
    await connection.execute(query, parameters)


async def rows_waited_for(name: str, contestants: Contestants) -> list[str]:
    """Which of the rows keep the statement waiting."""
    return [row for row in HELD_ROWS if await _waits_for(name, row, contestants)]


async def _waits_for(name: str, row: str, contestants: Contestants) -> bool:
    await contestants.watcher.execute(FILL, prepare=False)
    async with contestants.holder.transaction():
        await contestants.holder.execute(row)
        running = await begin(contestants.first, name, contestants.watcher)
        waited = not running.done()
    await running
    return waited


async def deadlocks(first: str, second: str, row: str, contestants: Contestants) -> bool:
    await contestants.watcher.execute(FILL, prepare=False)
    async with contestants.holder.transaction():
        await contestants.holder.execute(row)
        running = [
            await begin(contestants.first, first, contestants.watcher),
            await begin(contestants.second, second, contestants.watcher),
        ]
    ended = await asyncio.gather(*running, return_exceptions=True)
    for error in ended:
        if error is not None and not isinstance(error, psycopg.errors.DeadlockDetected):
            raise error
    return ended != [None, None]


@pytest.mark.parametrize("first", STATEMENTS)
async def test_each_statement_with_each_other(contestants: Contestants, first: str) -> None:
    """Each pair meets at one of the rows that keep the first waiting; these take turns."""
    rows = await rows_waited_for(first, contestants)
    await assert_no_deadlock(contestants, first, zip(STATEMENTS, cycle(rows), strict=False))


@pytest.mark.long
@pytest.mark.parametrize("first", STATEMENTS)
async def test_each_statement_with_each_other_at_every_row(contestants: Contestants, first: str) -> None:
    rows = await rows_waited_for(first, contestants)
    await assert_no_deadlock(contestants, first, product(STATEMENTS, rows))


async def assert_no_deadlock(contestants: Contestants, first: str, meetings: Iterable[tuple[str, str]]) -> None:
    found = [(second, row) for second, row in meetings if await deadlocks(first, second, row, contestants)]
    assert not found, f"{first} meets a deadlock with: {found}"
