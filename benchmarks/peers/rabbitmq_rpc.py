"""RPC over RabbitMQ: requests in a quorum queue with publisher confirms, replies straight to the caller."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.peers.rabbitmq import QUEUE, missing, serving
from benchmarks.peers.requests import Ask

__all__ = ["NAME", "answering", "asking", "missing", "serving"]

NAME = "RabbitMQ RPC (requests on disk)"
REPLIES = "amq.rabbitmq.reply-to"  # RabbitMQ's way to answer without a queue for each caller


@asynccontextmanager
async def asking(address: str) -> AsyncIterator[Ask]:
    async with _channel(address) as (channel, _):
        import aio_pika

        waiting: dict[str, asyncio.Future[None]] = {}
        numbers = itertools.count()

        async def replied(message: Any) -> None:
            waiting.pop(message.correlation_id).set_result(None)

        async def ask(body: bytes) -> None:
            number = str(next(numbers))
            waiting[number] = reply = asyncio.get_running_loop().create_future()
            request = aio_pika.Message(
                body,
                delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
                correlation_id=number,
                reply_to=REPLIES,
            )
            await channel.default_exchange.publish(request, routing_key=QUEUE)
            await reply

        await (await channel.get_queue(REPLIES, ensure=False)).consume(replied, no_ack=True)
        yield ask


@asynccontextmanager
async def answering(address: str) -> AsyncIterator[None]:
    async with _channel(address) as (channel, queue):
        import aio_pika

        async def answer(request: Any) -> None:
            reply = aio_pika.Message(request.body, correlation_id=request.correlation_id)
            await channel.default_exchange.publish(reply, routing_key=request.reply_to)
            await request.ack()

        await channel.set_qos(prefetch_count=1)
        await queue.consume(answer)
        yield


@asynccontextmanager
async def _channel(address: str) -> AsyncIterator[Any]:
    import aio_pika  # only where it is installed

    async with await aio_pika.connect(address) as connection:
        channel = await connection.channel(publisher_confirms=True)
        queue = await channel.declare_queue(QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
        yield channel, queue
