"""The table of moves on a real PostgreSQL: each statement is tried on a message in every state.

What it moves must be what the table lets start, and where that ends up must be what the table leads to.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import pytest
from psycopg.rows import dict_row

from delivery.moves.admission import Admission
from delivery.moves.cancelling import CancelRequest, cancel
from delivery.moves.claims import QueueDemand, assign, claim, claim_across, pop, pop_across
from delivery.moves.dead_letters import bury
from delivery.moves.endings import (
    Endings,
    FailRequest,
    FinishRequest,
    ReleaseRequest,
    endings_without_sessions,
    finish,
    release,
    retry,
)
from delivery.moves.free_ids import FreeIds
from delivery.moves.groups import Group, arranging
from delivery.moves.limits import claim_limited, claiming_limited
from delivery.moves.message_id import MessageId
from delivery.moves.posting import Copy, NobodyPosts, PostRequest, insert_copies
from delivery.moves.removal import drop, drop_oldest, retain_streams
from delivery.moves.states import MOVES, Move, Outcome, State
from delivery.moves.transfer import lock_unclaimed, transfer
from delivery.moves.waiting import come_due, reprioritise, retry_now, rewrite
from delivery.protocol.commands import Post
from delivery.storage.connection import connect, fetch_batch, fetch_rows
from delivery.storage.statement_connection import StatementConnection
from delivery.storage.statements import statement
from delivery.storage.vocabulary import INDEXES_AHEAD
from delivery.wakeups.expiries import Expiry
from queues.definitions import QueueRecord, default_settings, definition_parameters, record_of
from queues.definitions import statement as queue_statement
from queues.models import Kind

pytestmark = pytest.mark.django_db(transaction=True)

NODE, HOLDER, POSTER = 1, 7, 8
KEY = "k"
LOWEST_RANK = -(2**40)
SECONDS = 5.0  # of a delay

INSERT = """
    INSERT INTO delivery_message (queue_id, sequence, index, priority, state, attempts, body, key, available_at,
                                  expires_at, poster, holder, assigned_at, work_timeout, lease_until, group_key)
    SELECT %(queue_id)s, 1, 1, 0, %(state)s, CASE WHEN %(group)s::text IS NULL THEN 1 ELSE 0 END, 'm', %(key)s,
           now() - interval '1 second',
           CASE WHEN %(expired)s THEN now() - interval '1 second' END, %(poster)s, h.holder, now(), 60,
           CASE WHEN h.holder IS NOT NULL THEN now() + interval '1 minute' END, %(group)s
    FROM (SELECT CASE WHEN %(state)s = %(claimed)s THEN %(holder)s END AS holder) h
"""
WORKER = """
    WITH node AS (
        INSERT INTO clients_node (name, url) VALUES ('n', 'ws://n') RETURNING id
    ), session AS (
        INSERT INTO clients_session (token, node_id) SELECT 't', id FROM node RETURNING id, node_id
    )
    INSERT INTO delivery_worker (session_id, node_id, identity, services, queue_ids, slots, free, waited_since,
                                 heartbeat_interval, config_type, config_version)
    SELECT id, node_id, 'w', '{s}', ARRAY[%(queue_id)s::bigint], 1, 1, 1, 5, 'JSON', '' FROM session
"""


@dataclass(frozen=True)
class Reader:
    session_id: int = HOLDER
    client_name: str | None = "c"


@dataclass(frozen=True)
class Wish:
    reader: Reader = Reader()
    work_timeout: float | None = None


@dataclass(frozen=True)
class Stage:
    """A message with a queue of its own, and another queue beside it."""

    connection: StatementConnection
    queue: QueueRecord
    other: QueueRecord

    @property
    def id(self) -> MessageId:
        return MessageId(self.queue.id, 1, 1)

    async def look(self) -> Any:
        """Where the message is, and in which state; None if it is gone."""
        rows = await self.connection.execute(
            "SELECT ctid, state FROM delivery_message WHERE queue_id = %s AND sequence = 1 AND index = 1",
            [self.queue.id],
        )
        return await rows.fetchone()


Try = Callable[[Stage], Awaitable[Any]]


@dataclass(frozen=True)
class Trial:
    """One way to run a move, on a message or queue with these peculiarities."""

    run: Try
    kind: str | None = None  # of the queue; by default the one that has messages of that state
    settings: tuple[tuple[str, Any], ...] = ()
    expired: bool = False
    group: str | None = None  # of a message that nobody has tried


async def run_claim(stage: Stage) -> None:
    demands = [QueueDemand(queue.id, 1, LOWEST_RANK, 0) for queue in (stage.queue, stage.other)]
    await claim(stage.connection, demands, [Wish(), Wish()], node_id=NODE)


async def run_claim_from_one(stage: Stage) -> None:
    await claim(stage.connection, [QueueDemand(stage.queue.id, 1, LOWEST_RANK, 0)], [Wish()], node_id=NODE)


async def run_pop(stage: Stage) -> None:
    demands = [QueueDemand(stage.queue.id, 1, LOWEST_RANK, 0)]
    await pop(stage.connection, demands, [Wish()], node_id=NODE, node_name="n")


async def run_claim_across(stage: Stage) -> None:
    queue_ids = [stage.queue.id, stage.other.id]
    await claim_across(stage.connection, queue_ids, Wish(), places=1, evenly=False, node_id=NODE)


async def run_claim_limited(stage: Stage) -> None:
    await claim_limited(stage.connection, QueueDemand(stage.queue.id, 1, LOWEST_RANK, 0), [Wish()], node_id=NODE)


async def run_claim_limited_to_pop(stage: Stage) -> None:
    """What pop_limited claims, before it ends it."""
    demand = QueueDemand(stage.queue.id, 1, LOWEST_RANK, 0)
    await fetch_batch(stage.connection, *claiming_limited(demand, [Wish()], pops=True))


async def run_claim_to_pop_across(stage: Stage) -> None:
    """What pop_across claims, before it ends it."""
    queue_ids = [stage.queue.id, stage.other.id]
    await claim_across(
        stage.connection, queue_ids, Wish(), places=1, evenly=False, node_id=NODE, pops=True, most={stage.queue.id: 9}
    )


async def run_arrange(stage: Stage, urgent: bool) -> None:
    """Alone, or beside one of the group that goes first."""
    if urgent:
        await stage.connection.execute(
            "INSERT INTO delivery_message (queue_id, sequence, index, priority, state, body, group_key)"
            " VALUES (%s, 2, 2, 9, %s, 'm', 'g')",
            [stage.queue.id, State.BEHIND.value],
        )
    await fetch_batch(stage.connection, *arranging([Group(stage.queue.id, "g")]))


async def run_assign(stage: Stage) -> None:
    await stage.connection.execute(WORKER, {"queue_id": stage.queue.id})
    await assign(stage.connection, stage.queue.id, node_id=NODE, lapse_seconds=60, limit=10)


def ending(kind: type, stage: Stage, **values: Any) -> Any:
    numbers = {"queue_id": stage.queue.id, "sequence": 1, "index": 1, "holder": HOLDER}
    return kind(**numbers, **values, answer=lambda error: None)


async def run_finish(stage: Stage, claims: int, keeps: bool = False) -> None:
    """With two of them a batch; the second is of a message that is not there."""
    requests = [ending(FinishRequest, stage), ending(FinishRequest, replace(stage, queue=stage.other))][:claims]
    requests[0].may_keep_reply = keeps
    await finish(stage.connection, requests, outcome=Outcome.FINISHED, node_id=NODE, node_name="n")


def endings() -> Endings:
    return endings_without_sessions(name="n", notices_left=lambda: None, became_ready=lambda queue_id, delay: None)


async def run_fail(stage: Stage, delay: float) -> None:
    await endings().fail(stage.connection, [ending(FailRequest, stage, reason="failed", delay=delay)])


async def run_expiry(stage: Stage) -> None:
    rows = await fetch_rows(stage.connection, statement("expired_messages"), {"now": None, "limit": 10})
    await bury(stage.connection, [(row, Expiry()) for row in rows], node_id=None, node_name="n")


def post(stage: Stage, delay: float | None = None, group: str | None = None) -> PostRequest:
    command = Post(queues=(stage.queue.name,), message=b"new", key=KEY, delay=delay, group=group)
    return PostRequest(NobodyPosts(), command, [stage.queue])


async def run_replace(stage: Stage, delay: float | None, group: str | None = None) -> None:
    await Admission(stage.connection, [post(stage, delay, group)], None, "n").admit()


async def run_transfer(stage: Stage) -> None:
    rows = await lock_unclaimed(stage.connection, [stage.id])
    await transfer(stage.connection, rows, stage.other, by="n")


async def run_release(stage: Stage) -> None:
    await release(stage.connection, [ending(ReleaseRequest, stage, attempt=1)])


def cancellation(stage: Stage, **values: Any) -> CancelRequest:
    given = {"queue_id": stage.queue.id, "index": 1, "session": POSTER, "key": None} | values
    return CancelRequest(**given, done=lambda sequence: None, refused=lambda error: None)


async def run_cancel(stage: Stage) -> None:
    await cancel(stage.connection, [cancellation(stage)], node_id=NODE, node_name="n")


EXHAUSTED = (("retry_limit", 1),)
UPDATABLE = (("updatable", True),)
TRIALS: dict[str, Sequence[Trial]] = {
    "replace": [
        *[Trial(partial(run_replace, delay=delay), settings=UPDATABLE) for delay in (None, SECONDS)],
        Trial(partial(run_replace, delay=None, group="g"), settings=(*UPDATABLE, ("group_in_flight", 1))),
    ],
    "come_due": [
        Trial(lambda stage: come_due(stage.connection, limit=10), settings=(("group_in_flight", 1),), group=group)
        for group in (None, "g")
    ],
    "arrange_groups": [
        Trial(partial(run_arrange, urgent=urgent), settings=(("group_in_flight", 1),), group="g")
        for urgent in (False, True)
    ],
    "claim_limited": [Trial(run_claim_limited), Trial(run_claim_limited_to_pop)],
    "claim": [Trial(run_claim)],
    "claim_from_one": [Trial(run_claim_from_one)],
    "claim_across": [Trial(run_claim_across), Trial(run_claim_to_pop_across)],
    "assign": [Trial(run_assign)],
    "pop": [Trial(run_pop)],
    "finish": [Trial(partial(run_finish, claims=2))],
    "finish_keeping": [Trial(partial(run_finish, claims=1, keeps=True))],
    "finish_one": [Trial(partial(run_finish, claims=1))],
    "retry": [Trial(partial(run_fail, delay=delay)) for delay in (0.0, SECONDS)],
    "release": [Trial(run_release)],
    "cancel": [Trial(run_cancel)],
    "bury": [Trial(partial(run_fail, delay=0.0), settings=EXHAUSTED), Trial(run_expiry, expired=True)],
    "drop_oldest": [
        Trial(lambda stage: drop_oldest(stage.connection, {stage.queue.id: 1}, node_id=NODE, node_name="n"))
    ],
    "retain_streams": [
        Trial(
            lambda stage: retain_streams(stage.connection, limit=10, by="n"),
            kind=Kind.STREAM.value,
            settings=(("retention_count", 1),),
        )
    ],
    "drop": [
        Trial(lambda stage: drop(stage.connection, [stage.id], by="n")),
        Trial(lambda stage: drop(stage.connection, [stage.id], by="n", forced=True)),
    ],
    "retry_now": [Trial(lambda stage: retry_now(stage.connection, [stage.id]), group=group) for group in (None, "g")],
    "reprioritise": [Trial(lambda stage: reprioritise(stage.connection, [stage.id], 9))],
    "rewrite": [Trial(lambda stage: rewrite(stage.connection, stage.id, body=b"new", priority=9))],
    "take_out": [Trial(run_transfer)],
}


@pytest.fixture
async def connection() -> AsyncIterator[StatementConnection]:
    connection = await connect(application="test")
    connection.prepare_threshold = None  # else psycopg has the server forget the lanes' statements with each rollback
    yield connection
    await connection.close()


async def define(connection: StatementConnection, name: str, **settings: Any) -> QueueRecord:
    parameters = definition_parameters(name, (), replace(default_settings(name), **settings))
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(queue_statement("define"), parameters)
        row = await cursor.fetchone()
        assert row is not None
        return record_of(row)


async def prepare(connection: StatementConnection, trial: Trial, state: State) -> Stage:
    kind = trial.kind or (Kind.STREAM.value if state == State.RETAINED else Kind.WORK.value)
    settings = {"kind": kind, "retry_limit": None} | dict(trial.settings)
    if kind == Kind.STREAM:
        settings.pop("group_in_flight", None)
    queue, other = await define(connection, "q", **settings), await define(connection, "other")
    await connection.execute(
        "UPDATE queues_counter SET newest_index = 10, next_sequence = 11 WHERE queue_id = %s",
        [queue.id],
    )
    values = {"queue_id": queue.id, "state": state.value, "key": KEY, "expired": trial.expired, "poster": POSTER}
    values["group"] = trial.group
    await connection.execute(INSERT, values | {"holder": HOLDER, "claimed": State.CLAIMED.value})
    return Stage(connection, queue, other)


async def end_of(connection: StatementConnection, trial: Trial, state: State) -> tuple[bool, State | None]:
    """Whether the message was moved, and the state that it has then, if it is still there."""
    async with connection.transaction(force_rollback=True):
        stage = await prepare(connection, trial, state)
        before = await stage.look()
        await trial.run(stage)
        after = await stage.look()
        return before != after, State(after[1]) if after else None


@pytest.mark.parametrize("move", [move for move in MOVES if move.starts], ids=lambda move: move.statement)
async def test_a_move_starts_and_ends_where_the_table_says(connection: StatementConnection, move: Move) -> None:
    ends = {
        (trial, state): await end_of(connection, trial, state) for trial in TRIALS[move.statement] for state in State
    }
    assert {state for (_, state), (moved, _) in ends.items() if moved} == move.starts
    assert {end for moved, end in ends.values() if moved} - {None} == move.leads_to
    assert all((end is None) is (not move.leads_to) for moved, end in ends.values() if moved)


@dataclass(frozen=True)
class Taker:
    index_before: int
    session_id: int = HOLDER
    work_timeout: float | None = None


class Ended(NamedTuple):
    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name


# What makes each form of post the one that is chosen: the queues of its messages, what else these have, and if they are
# to be stored once.
POSTS: dict[str, tuple[list[str], dict[str, Any], bool]] = {
    "post_one": (["q"], {}, False),
    "post_one_once": (["q"], {"dedupe": "d"}, True),
    "post_to_one": (["q", "q"], {}, False),
    "post": (["q", "r"], {}, False),
    "post_with": (["q"], {"headers": {"a": "b"}}, False),
    "post_once_to_one": (["q", "q"], {}, True),
    "post_once": (["q", "r"], {}, True),
}


@pytest.mark.parametrize("statement", POSTS)
async def test_a_post_leads_where_the_table_says(connection: StatementConnection, statement: str) -> None:
    queue_names, extras, once = POSTS[statement]

    async def end_of_post(
        kind: Kind, *, delay: float | None = None, taken: bool = False, group: str | None = None
    ) -> State:
        async with connection.transaction(force_rollback=True):
            most = None if group is None else 1
            queues = {
                name: await define(connection, name, kind=kind.value, group_in_flight=most) for name in queue_names
            }
            command = Post(queues=("q",), message=b"m", delay=delay, group=group, **extras)
            copies = [PostRequest(NobodyPosts(), command, [queues[name]]).copies[0] for name in queue_names]
            takers: dict[Copy, Taker] = {copy: Taker(index_before=0) for copy in copies} if taken else {}
            await insert_copies(connection, copies, NODE, takers, once=once)
            rows = await connection.execute(
                "SELECT DISTINCT state FROM delivery_message WHERE queue_id = ANY (%s)",
                [[queue.id for queue in queues.values()]],
            )
            [(state,)] = await rows.fetchall()
            return State(state)

    ends = {
        await end_of_post(Kind.WORK),
        await end_of_post(Kind.WORK, delay=SECONDS),
        await end_of_post(Kind.WORK, taken=True),
        await end_of_post(Kind.STREAM),
    }
    if statement == "post_with":
        ends.add(await end_of_post(Kind.WORK, group="g"))
    [move] = [move for move in MOVES if move.statement == statement]
    assert ends == move.leads_to


@pytest.mark.parametrize("statement", POSTS)
async def test_every_form_of_post_uses_free_ids_again_and_flushes_indexes_ahead(
    connection: StatementConnection, statement: str
) -> None:
    queue_names, extras, once = POSTS[statement]
    ended, restarted = [(9, 5), None], 3  # an ID with the index of its former message; of those up to 3 none is used

    async def numbers(free: list[tuple[int, int] | None]) -> list[tuple[str, int, int]]:
        async with connection.transaction(force_rollback=True):
            queues = {name: await define(connection, name) for name in queue_names}
            await connection.execute(
                "UPDATE queues_counter SET newest_index = 20, next_sequence = 11, restarted_index = %s", [restarted]
            )
            ids = FreeIds()
            for name, one in zip(queue_names, free, strict=False):
                ids.give([Ended(queues[name].id, *one)] if one else [], ids.moment)
            command = Post(queues=("q",), message=b"m", **extras)
            copies = [PostRequest(NobodyPosts(), command, [queues[name]]).copies[0] for name in queue_names]
            await insert_copies(connection, copies, NODE, free_ids=ids, once=once)
            counters = await fetch_rows(connection, "SELECT * FROM queues_counter", {})
            assert all(row.flushed_index >= row.newest_index + INDEXES_AHEAD for row in counters)
            next_of = {row.queue_id: row.next_sequence for row in counters}
            assert all(next_of[copy.queue.id] > copy.sequence for copy in copies)
            return [(copy.queue.name, copy.index, copy.sequence) for copy in copies]

    in_two = len(set(queue_names)) == 2
    new_of_second = ("r", 21, 11) if in_two else ("q", 22, 11)
    assert await numbers(ended) == [("q", 21, 9), new_of_second][: len(queue_names)]
    from_before_restart = ("r", 21, 11) if in_two else ("q", 22, 12)
    assert await numbers([(9, 3)]) == [("q", 21, 11), from_before_restart][: len(queue_names)]


async def test_a_pop_over_several_queues_ends_what_it_takes(connection: StatementConnection) -> None:
    """By the same finish as that of a client, whose reply is bytes."""
    async with connection.transaction(force_rollback=True):
        stage = await prepare(connection, Trial(run_pop), State.READY)
        queue_ids = [stage.other.id, stage.queue.id]
        [popped] = await pop_across(connection, queue_ids, Wish(), places=2, evenly=True, node_id=NODE, node_name="n")
        assert (popped.queue_id, popped.body) == (stage.queue.id, b"m")
        assert await stage.look() is None
        journal = await connection.execute(
            "SELECT outcome, client, node FROM delivery_journal WHERE queue_id = ANY (%s)", [queue_ids]
        )
        assert await journal.fetchall() == [("popped", "c", "n")]


async def claimed_stage(connection: StatementConnection, attempts: int = 1) -> Stage:
    stage = await prepare(connection, Trial(run_release), State.CLAIMED)
    await connection.execute("UPDATE delivery_message SET attempts = %s", [attempts])
    return stage


@pytest.mark.parametrize("attempt", [None, 2])
async def test_only_the_named_attempt_ends(connection: StatementConnection, attempt: int | None) -> None:
    async with connection.transaction(force_rollback=True):
        stage = await claimed_stage(connection, attempts=2)
        before = await stage.look()
        for kind, values in ((FinishRequest, {}), (FailRequest, {"reason": "failed"}), (ReleaseRequest, {})):
            late = [ending(kind, stage, attempt=1, **values)]
            if kind is FinishRequest:
                await finish(connection, late, outcome=Outcome.FINISHED, node_id=NODE, node_name="n")
            elif kind is FailRequest:
                await endings().fail(connection, late)
            else:
                await release(connection, late)
        assert await stage.look() == before
        in_time = [ending(FinishRequest, stage, attempt=attempt)]
        assert await finish(connection, in_time, outcome=Outcome.FINISHED, node_id=NODE, node_name="n")


@pytest.mark.parametrize(("attempts", "knows_of_an_assignment"), [(1, False), (2, True)])
async def test_a_released_message_is_as_it_was_before_it_was_claimed(
    connection: StatementConnection, attempts: int, knows_of_an_assignment: bool
) -> None:
    async with connection.transaction(force_rollback=True):
        stage = await claimed_stage(connection, attempts)
        await run_release_of(stage, attempts)
        [row] = await fetch_rows(
            connection,
            "SELECT attempts, holder, lease_until, work_timeout, assigned_at IS NOT NULL FROM delivery_message",
            {},
        )
        assert row == (attempts - 1, None, None, None, knows_of_an_assignment)
        assert not await fetch_rows(
            connection, "SELECT FROM delivery_journal WHERE queue_id = %(id)s", {"id": stage.queue.id}
        )


async def run_release_of(stage: Stage, attempts: int) -> None:
    assert await release(stage.connection, [ending(ReleaseRequest, stage, attempt=attempts)])


async def test_who_may_cancel(connection: StatementConnection) -> None:
    async with connection.transaction(force_rollback=True):
        stage = await prepare(connection, Trial(run_cancel), State.READY)
        for others in ({"session": 9}, {"session": 9, "key": 5}, {"index": 2}, {"queue_id": stage.other.id}):
            assert not await cancel(connection, [cancellation(stage, **others)], node_id=NODE, node_name="n")
        [cancelled] = await cancel(connection, [cancellation(stage)], node_id=NODE, node_name="n")
        assert (cancelled.place, cancelled.sequence) == (1, 1)
        [row] = await fetch_rows(
            connection, "SELECT outcome, reason FROM delivery_journal WHERE queue_id = %(id)s", {"id": stage.queue.id}
        )
        assert row == ("dropped", "cancelled")


async def test_a_final_failure_leaves_no_attempts(connection: StatementConnection) -> None:
    async with connection.transaction(force_rollback=True):
        stage = await claimed_stage(connection)
        failures = await endings().fail(connection, [ending(FailRequest, stage, reason="failed", final=True)])
        assert [one.row.index for one in failures.buried] == [1]


async def test_a_node_cannot_say_that_a_client_has_gone_which_went_on_over_another(
    connection: StatementConnection,
) -> None:
    async with connection.transaction(force_rollback=True):
        stage = await claimed_stage(connection)
        here, there = [await a_node(connection, name) for name in ("here", "there")]
        await connection.execute(
            "INSERT INTO clients_session (id, token, node_id) VALUES (%s, 't', %s)", [HOLDER, there]
        )
        for node, reason, is_failed in (
            (here, "disconnected", False),
            (here, "failed", True),
            (there, "disconnected", True),
        ):
            async with connection.transaction(force_rollback=True):
                told = [ending(FailRequest, stage, reason=reason)]
                rows = await retry(connection, told, node_id=node, node_name="n")
                assert bool(rows) is is_failed


async def a_node(connection: StatementConnection, name: str) -> int:
    rows = await connection.execute("INSERT INTO clients_node (name, url) VALUES (%s, 'ws://n') RETURNING id", [name])
    [number] = await rows.fetchone() or [0]
    return int(number)
