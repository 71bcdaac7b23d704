"""Leaving in good order: nothing that was not begun costs an attempt, and nothing waits for a client that has gone."""

import asyncio

from willow_client.claims import id_of
from willow_client.commands import Fail
from willow_client.connection import Connection
from willow_client.frames import Delivery

CLOSE_SECONDS = 5.0  # for all of it, unless the caller says otherwise
CLOSED = "The client was closed while it worked on this message."


async def close_in_good_order(connection: Connection, seconds: float | None) -> None:
    if not connection.is_open:
        await connection.close(0)
        return
    until = connection.loop.time() + (CLOSE_SECONDS if seconds is None else seconds)
    try:
        async with asyncio.timeout_at(until):
            await _give_everything_back(connection)
            await connection.all_sent()
    except TimeoutError:
        pass  # the broker finds out by itself
    finally:
        await connection.close(max(0.0, until - connection.loop.time()))


async def _give_everything_back(connection: Connection) -> None:
    closing = [subscription.close() for subscription in list(connection.open_subscriptions.values())]
    await asyncio.gather(*closing, *connection.background, return_exceptions=True)
    connection.release(connection.strays)
    held = connection.claims.held()
    begun = [delivery for delivery in held if connection.claims.has_begun(delivery)]
    answers = connection.give_back([delivery for delivery in held if not connection.claims.has_begun(delivery)])
    if connection.is_connected:
        answers += [connection.ask(_failed(delivery), repeatable=False) for delivery in begun]
    for delivery in begun:
        connection.claims.end(delivery)
    await asyncio.gather(*answers, return_exceptions=True)


def _failed(delivery: Delivery) -> Fail:
    claim = id_of(delivery)
    return Fail(
        queue=claim.queue,
        shard=claim.shard,
        sequence=claim.sequence,
        index=claim.index,
        attempt=claim.attempt,
        response="write",
        error=CLOSED,
    )
