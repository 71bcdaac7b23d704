"""Leaving in good order: nothing that was not begun costs an attempt, and nothing waits for a client that has gone."""

import asyncio

from willow_client.claims import id_of
from willow_client.commands import Fail
from willow_client.connection import Connection

CLOSE_SECONDS = 5.0  # for all of it
CLOSED = "The client was closed while it held this message."


async def close_in_good_order(connection: Connection) -> None:
    if connection.is_open:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await _give_everything_back(connection)
        except TimeoutError:
            pass  # the broker finds out by itself
    await connection.close()


async def _give_everything_back(connection: Connection) -> None:
    closing = [subscription.close() for subscription in list(connection.open_subscriptions.values())]
    await asyncio.gather(*closing, *connection.background, return_exceptions=True)
    connection.release(connection.strays)
    failing = []
    for delivery in connection.claims.held():
        connection.claims.end(delivery)
        if connection.is_connected:
            claim = id_of(delivery)
            command = Fail(
                queue=claim.queue,
                shard=claim.shard,
                sequence=claim.sequence,
                index=claim.index,
                attempt=claim.attempt,
                response="write",
                error=CLOSED,
            )
            failing.append(connection.ask(command, repeatable=False, timeout=CLOSE_SECONDS))
    await asyncio.gather(*failing, return_exceptions=True)
