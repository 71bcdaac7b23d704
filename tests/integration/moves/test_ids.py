"""IDs of messages on a real PostgreSQL: none is given to two live messages, whatever a node believes to be free."""

from dataclasses import dataclass
from random import Random

import pytest

from delivery.moves.free_ids import FreeIds
from delivery.moves.posting import Copy, NobodyPosts, PostRequest, insert_copies
from delivery.protocol.commands import Post
from delivery.storage.statement_connection import StatementConnection
from delivery.storage.statements import statement
from queues.definitions import QueueRecord

pytestmark = pytest.mark.django_db(transaction=True)
NODE = 7


@dataclass
class Ended:
    queue_id: int
    sequence: int
    index: int


async def post(
    connection: StatementConnection, queue: QueueRecord, messages: int, free_ids: FreeIds | None = None
) -> list[Copy]:
    command = Post(queues=(queue.name,), message=b"m")
    copies = [PostRequest(NobodyPosts(), command, [queue]).copies[0] for _ in range(messages)]
    await insert_copies(connection, copies, NODE, free_ids=free_ids)
    return copies


@pytest.mark.parametrize("messages", [1, 3])
async def test_ids_are_used_again_and_never_by_two_live_messages(
    connection: StatementConnection, orders: QueueRecord, messages: int
) -> None:
    """Two nodes post to a queue and end its messages in any order; whenever it is empty, its IDs begin at 1 again."""
    chance = Random(messages)
    nodes = [FreeIds(), FreeIds()]
    live: dict[int, int] = {}  # index by sequence
    restarts = reused = 0
    for _ in range(150):
        node = chance.choice(nodes)
        if chance.random() < 0.5:
            before = node.count
            for copy in await post(connection, orders, messages, node):
                assert copy.sequence not in live
                live[copy.sequence] = copy.index
            reused += before - node.count
        else:
            ending = chance.sample(sorted(live), chance.randint(0, len(live)))
            await end(connection, orders, [(sequence, live.pop(sequence)) for sequence in ending], node)
        restarts += await restart(connection)
    assert restarts and reused  # or nothing was tried


async def test_an_id_from_before_a_restart_is_not_used(connection: StatementConnection, orders: QueueRecord) -> None:
    """A node that remembers an ID does not know that the queue has begun anew, and that another node gave it out."""
    remembering = FreeIds()
    [copy] = await post(connection, orders, 1)
    await end(connection, orders, [(copy.sequence, copy.index)], remembering)
    assert await restart(connection) == 1
    [first] = await post(connection, orders, 1)
    [second] = await post(connection, orders, 1, remembering)
    assert (first.sequence, second.sequence) == (1, 2)


async def end(
    connection: StatementConnection, queue: QueueRecord, numbers: list[tuple[int, int]], free_ids: FreeIds
) -> None:
    indexes = [index for _, index in numbers]
    await connection.execute("DELETE FROM delivery_message WHERE index = ANY (%s)", [indexes])
    free_ids.give((Ended(queue.id, sequence, index) for sequence, index in numbers), free_ids.moment)


async def restart(connection: StatementConnection) -> int:
    cursor = await connection.execute(statement("restart_sequences"), {"limit": 10})
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def test_an_empty_queue_starts_from_1_again_and_one_that_holds_messages_does_not(
    connection: StatementConnection, orders: QueueRecord
) -> None:
    await post(connection, orders, 2)
    assert await restart(connection) == 0
    await connection.execute("DELETE FROM delivery_message")
    assert await restart(connection) == 1
    [copy] = await post(connection, orders, 1)
    assert (copy.sequence, copy.index) == (1, 3)


async def test_counts_of_nodes_that_are_gone_are_kept(connection: StatementConnection, orders: QueueRecord) -> None:
    await connection.execute(
        "INSERT INTO delivery_endedcount VALUES (%s, %s, 5), (%s, 0, 2)", [orders.id, NODE, orders.id]
    )
    await connection.execute(statement("fold_ended_counts"), {"limit": 10})
    rows = await connection.execute("SELECT node_id, messages FROM delivery_endedcount")
    assert await rows.fetchall() == [(0, 7)]
