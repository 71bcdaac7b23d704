"""A message's whole way, gone on the lanes that all clients share, and undone: whether this node could serve them.

The statements are the real ones, on the connections where they are prepared. They run in a transaction that is rolled
back, on a queue that exists in it alone: no message, no journal row and no queue stays behind. That commits reach the
disk is no part of it; the node's heartbeat, which is looked at too, is committed every second.
"""

import asyncio
from collections.abc import Awaitable, Callable

import psycopg
from psycopg.rows import dict_row

from delivery.engine.engine import Engine
from delivery.engine.floors import LOWEST_RANK
from delivery.moves.claims import QueueDemand, claim
from delivery.moves.endings import FinishRequest, endings_without_sessions
from delivery.moves.posting import Copy, NobodyPosts, PostRequest, insert_copies
from delivery.protocol.commands import Post
from delivery.protocol.errors import WillowError
from delivery.storage.lanes import Lane
from delivery.storage.rehearsals import Rehearsal
from delivery.storage.statement_connection import StatementConnection
from delivery.storage.statements import statement
from queues.definitions import QueueRecord, default_settings, definition_parameters, record_of

NOBODY = 0  # no session has this number
NAME = "rehearsal"


class Nobody:
    session_id = NOBODY
    client_name = None


class NobodysClaim:
    reader = Nobody()
    work_timeout = None


async def rehearse(engine: Engine) -> None:
    """Raises a WillowError that says in one sentence what did not work."""
    await _on_lane(engine.posts, _post)
    await _on_lane(engine.claims, _post_claim_and_finish)


async def _on_lane(lane: Lane, work: Callable[[StatementConnection], Awaitable[object]]) -> None:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def answer(error: WillowError | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    lane.submit(Rehearsal(work, answer))
    await done


async def _post(connection: StatementConnection) -> Copy:
    queue = await _make_queue(connection)
    [copy] = PostRequest(NobodyPosts(), Post(queues=(queue.name,), message=b""), [queue]).copies
    await insert_copies(connection, [copy], None)
    return copy


async def _post_claim_and_finish(connection: StatementConnection) -> None:
    queue_id = (await _post(connection)).queue.id
    [claimed] = await claim(connection, [QueueDemand(queue_id, 1, LOWEST_RANK, 0)], [NobodysClaim()], node_id=NOBODY)
    refused: list[WillowError | None] = []
    finish = FinishRequest(
        queue_id=claimed.queue_id,
        sequence=claimed.sequence,
        index=claimed.index,
        holder=NOBODY,
        answer=refused.append,
    )
    endings = endings_without_sessions(name=NAME, notices_left=lambda: None, became_ready=lambda *_: None)
    after = await endings.run_finishes(connection, [finish])
    for step in after.at_once:
        step()
    if refused != [None]:
        raise psycopg.DataError("A message could be claimed, but not finished.")


async def _make_queue(connection: StatementConnection) -> QueueRecord:
    parameters = definition_parameters(NAME, [str(connection.info.backend_pid)], default_settings(NAME))
    async with connection.cursor(row_factory=dict_row, binary=True) as cursor:
        await cursor.execute(statement("rehearsal_queue"), parameters)
        row = await cursor.fetchone()
    assert row is not None
    return record_of(row)
