"""IDs of messages on a real PostgreSQL: none is given to two live messages, whatever a node believes to be free."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial

import pytest
from psycopg.rows import dict_row

from delivery.moves.free_ids import FreeIds
from delivery.moves.posting import NOBODY, Copy, NobodyPosts, PostRequest, insert_copies, store_with
from delivery.protocol.commands import Post
from delivery.storage.connection import connect
from delivery.storage.statement_connection import StatementConnection
from delivery.storage.statements import statement
from queues.definitions import QueueRecord, default_settings, definition_parameters, record_of
from queues.definitions import statement as queue_statement

pytestmark = pytest.mark.django_db(transaction=True)
NODE = 7


@dataclass
class Ended:
    queue_id: int
    sequence: int


@pytest.fixture
async def connection() -> AsyncIterator[StatementConnection]:
    connection = await connect(application="test")
    yield connection
    await connection.close()


@pytest.fixture
async def orders(connection: StatementConnection) -> QueueRecord:
    parameters = definition_parameters("orders", (), default_settings("orders"))
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(queue_statement("define"), parameters)
        row = await cursor.fetchone()
        assert row is not None
        return record_of(row)


async def post(
    connection: StatementConnection, queue: QueueRecord, messages: int, free_ids: FreeIds | None = None
) -> list[Copy]:
    command = Post(queues=(queue.name,), message=b"m")
    copies = [PostRequest(NobodyPosts(), command, [queue]).copies[0] for _ in range(messages)]
    await store_with(free_ids or FreeIds(), copies, partial(insert_copies, connection, copies, NODE, NOBODY))
    return copies


def believing_free(queue: QueueRecord, *sequences: int) -> FreeIds:
    ids = FreeIds()
    ids.give(Ended(queue.id, sequence) for sequence in sequences)
    return ids


@pytest.mark.parametrize("messages", [1, 3])
async def test_an_id_that_is_in_use_after_all_is_not_given_again(
    connection: StatementConnection, orders: QueueRecord, messages: int
) -> None:
    """A crash of PostgreSQL may bring back a message whose finish was not flushed."""
    [alive] = await post(connection, orders, 1)
    mistaken = believing_free(orders, alive.sequence)
    copies = await post(connection, orders, messages, mistaken)
    assert len({alive.sequence, *(copy.sequence for copy in copies)}) == 1 + messages
    assert [copy.index for copy in copies] == list(range(2, 2 + messages))
    assert mistaken.count == 0


@pytest.mark.parametrize("messages", [1, 3])
async def test_new_ids_are_above_one_that_a_node_remembered(
    connection: StatementConnection, orders: QueueRecord, messages: int
) -> None:
    """The reaper lets an empty queue start from 1 again, while a node still remembers a higher ID."""
    [remembered] = await post(connection, orders, 1, believing_free(orders, 5))
    assert remembered.sequence == 5
    copies = await post(connection, orders, messages)
    assert all(copy.sequence > 5 for copy in copies)


async def test_an_empty_queue_starts_from_1_again_and_one_that_holds_messages_does_not(
    connection: StatementConnection, orders: QueueRecord
) -> None:
    await post(connection, orders, 2)
    restart = statement("restart_sequences")
    assert await (await connection.execute(restart, {"limit": 10})).fetchone() == (0,)
    await connection.execute("DELETE FROM delivery_message")
    assert await (await connection.execute(restart, {"limit": 10})).fetchone() == (1,)
    [copy] = await post(connection, orders, 1)
    assert (copy.sequence, copy.index) == (1, 3)


async def test_counts_of_nodes_that_are_gone_are_kept(connection: StatementConnection, orders: QueueRecord) -> None:
    await connection.execute(
        "INSERT INTO delivery_endedcount VALUES (%s, %s, 5), (%s, 0, 2)", [orders.id, NODE, orders.id]
    )
    await connection.execute(statement("fold_ended_counts"), {"limit": 10})
    rows = await connection.execute("SELECT node_id, messages FROM delivery_endedcount")
    assert await rows.fetchall() == [(0, 7)]
