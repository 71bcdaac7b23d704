"""How much one statement hands out: bodies and headers count, and the broker knows when something was left."""

from dataclasses import dataclass
from typing import Any

import pytest

from delivery.moves.claims import QueueDemand, claim, claim_across, is_cut, pop
from delivery.moves.posting import NobodyPosts, PostRequest, insert_copies
from delivery.protocol.commands import Post
from delivery.storage.statement_connection import StatementConnection
from delivery.storage.vocabulary import MOST_TAKEN_BYTES
from queues.definitions import QueueRecord

pytestmark = pytest.mark.django_db(transaction=True)

NODE, LOWEST_RANK = 1, -(2**40)
MESSAGES = 200
VALUE_BYTES = 4000
# What a letter becomes in JSON differs: the broker must come to the same sum as PostgreSQL.
LETTERS = {"plain": "x", "quotes": '"', "control": "\x01", "umlauts": "ä", "emoji": "\N{SNOWMAN WITHOUT SNOW}"}


@dataclass(frozen=True)
class Reader:
    session_id: int = 7
    client_name: str | None = None


@dataclass(frozen=True)
class Wish:
    reader: Reader = Reader()
    work_timeout: float | None = None


@pytest.mark.parametrize("letter", LETTERS.values(), ids=LETTERS)
@pytest.mark.parametrize("way", ["claim", "claim_many", "across", "pop"])
async def test_headers_count_in_what_a_statement_hands_out(
    connection: StatementConnection, orders: QueueRecord, letter: str, way: str
) -> None:
    value = letter * (VALUE_BYTES // len(letter.encode()))
    post = Post(queues=(orders.name,), message=b"m", headers={f"h-{number}": value for number in range(4)})
    await insert_copies(
        connection, [PostRequest(NobodyPosts(), post, [orders]).copies[0] for _ in range(MESSAGES)], NODE
    )
    [(size,)] = await (
        await connection.execute("SELECT 1 + octet_length(headers::text) FROM delivery_message LIMIT 1")
    ).fetchall()
    fit = -(-MOST_TAKEN_BYTES // size)  # what began below the bound is taken whole
    left = MESSAGES
    while left:
        taken = await take(connection, orders, way, left)
        assert (len(taken), is_cut(taken)) == (min(fit, left), left >= fit)
        left -= len(taken)


async def take(connection: StatementConnection, queue: QueueRecord, way: str, places: int) -> list[Any]:
    wishes, demand = [Wish()] * places, QueueDemand(queue.id, places, LOWEST_RANK, 0)
    if way == "claim":
        return await claim(connection, [demand], wishes, node_id=NODE)
    if way == "claim_many":
        nowhere = QueueDemand(queue.id + 1, 1, LOWEST_RANK, 0)
        return await claim(connection, [demand, nowhere], [*wishes, Wish()], node_id=NODE)
    if way == "pop":
        return await pop(connection, [demand], wishes, node_id=NODE, node_name="n")
    return await claim_across(connection, [queue.id], Wish(), places=places, evenly=False, node_id=NODE)
