"""A quorum queue of RabbitMQ with publisher confirms, through aio-pika."""

import asyncio
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.peers.local_server import free_port, not_on_path, running

NAME = "RabbitMQ quorum queue"
DURABILITY = "on disk"
PROGRAM = "rabbitmq-server"
# Debian's program of that name changes to an account that cannot write where we want it to; this is what it calls.
DEBIAN_PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
QUEUE = "bench"
NOTHING_SECONDS = 1


def missing() -> str | None:
    if importlib.util.find_spec("aio_pika") is None:
        return "the package aio-pika is not installed"
    return not_on_path(PROGRAM)


@contextmanager
def serving() -> Iterator[str]:
    folder, port, distribution_port = tempfile.mkdtemp(prefix="willow-rabbitmq-"), free_port(), free_port()
    environ = {
        **os.environ,
        "HOME": folder,
        "RABBITMQ_MNESIA_BASE": folder,
        "RABBITMQ_LOG_BASE": folder,
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
        "ERL_EPMD_PORT": str(free_port()),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODENAME": f"bench-{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(distribution_port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }
    try:
        with running([str(DEBIAN_PROGRAM) if DEBIAN_PROGRAM.exists() else PROGRAM], port, environ):
            yield f"amqp://guest:guest@127.0.0.1:{port}/"
    finally:
        # Erlang's own name server, which the server started and leaves behind.
        subprocess.run(["epmd", "-kill"], env=environ, stdout=subprocess.DEVNULL, check=False)
        shutil.rmtree(folder, ignore_errors=True)


class QuorumQueueConnection:
    def __init__(self, channel: Any, queue: Any) -> None:
        self._channel = channel
        self._queue = queue
        self._delivered: asyncio.Queue[Any] | None = None

    async def post(self, bodies: Sequence[bytes]) -> None:
        await asyncio.gather(*(self._publish(body) for body in bodies))

    async def _publish(self, body: bytes) -> None:
        import aio_pika

        message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await self._channel.default_exchange.publish(message, routing_key=QUEUE)

    async def take(self, count: int) -> Sequence[Any]:
        delivered = self._delivered or await self._consume(count)
        try:
            taken = [await asyncio.wait_for(delivered.get(), NOTHING_SECONDS)]
        except TimeoutError:
            return []
        while len(taken) < count and not delivered.empty():
            taken.append(delivered.get_nowait())
        return taken

    async def _consume(self, ahead: int) -> asyncio.Queue[Any]:
        """RabbitMQ pushes: as many messages as are taken at once may be on their way."""
        self._delivered = asyncio.Queue()
        await self._channel.set_qos(prefetch_count=ahead)
        await self._queue.consume(self._delivered.put)
        return self._delivered

    async def finish(self, taken: Sequence[Any]) -> None:
        await taken[-1].ack(multiple=True)


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[QuorumQueueConnection]:
    import aio_pika  # only where it is installed

    async with await aio_pika.connect(address) as connection:
        channel = await connection.channel(publisher_confirms=True)
        queue = await channel.declare_queue(QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
        yield QuorumQueueConnection(channel, queue)
