"""A quorum queue of RabbitMQ with publisher confirms, through aio-pika."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.peers.connection import Taken
from benchmarks.peers.environment import client_missing
from benchmarks.peers.local_server import free_port, not_on_path, running
from benchmarks.peers.pushed import Pushed

NAME = "RabbitMQ quorum queue"
CONFIRM = "in the log of a quorum of one, flushed"
PROGRAM = "rabbitmq-server"
# Debian's program of that name changes to an account that cannot write where we want it to; this is what it calls.
DEBIAN_PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
QUEUE = "bench"
PATIENCE = 0.1  # seconds


def missing() -> str | None:
    return not_on_path(PROGRAM, "rabbitmq-server") or client_missing("aio_pika")


def program() -> str:
    return str(DEBIAN_PROGRAM) if DEBIAN_PROGRAM.exists() else PROGRAM


def environment(folder: str, port: int, distribution_port: int) -> dict[str, str]:
    """Of a server that keeps everything in the folder and listens only here."""
    return {
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


def end_name_server(environ: dict[str, str]) -> None:
    """Erlang's own, which the server started and leaves behind."""
    subprocess.run(["epmd", "-kill"], env=environ, stdout=subprocess.DEVNULL, check=False)


@contextmanager
def serving() -> Iterator[str]:
    folder, port = tempfile.mkdtemp(prefix="willow-rabbitmq-"), free_port()
    environ = environment(folder, port, free_port())
    try:
        with running([program()], port, environ):
            yield f"amqp://guest:guest@127.0.0.1:{port}/"
    finally:
        end_name_server(environ)
        shutil.rmtree(folder, ignore_errors=True)


class QuorumQueueConnection:
    def __init__(self, channel: Any, queue: Any) -> None:
        self._channel = channel
        self._queue = queue
        self._pushed: Pushed | None = None

    async def post(self, bodies: Sequence[bytes]) -> None:
        await asyncio.gather(*(self._publish(body) for body in bodies))

    async def _publish(self, body: bytes) -> None:
        import aio_pika

        message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await self._channel.default_exchange.publish(message, routing_key=QUEUE)

    async def take(self, count: int, wait: float = 0.0) -> Sequence[Taken]:
        return await (self._pushed or await self._consume(count)).take(count, wait or PATIENCE)

    async def _consume(self, ahead: int) -> Pushed:
        """RabbitMQ pushes: as many messages as are taken at once may be on their way."""
        self._pushed = pushed = Pushed()

        async def arrived(message: Any) -> None:
            pushed.put(Taken(message, message.body))

        await self._channel.set_qos(prefetch_count=ahead)
        await self._queue.consume(arrived)
        return pushed

    async def finish(self, taken: Sequence[Taken]) -> None:
        """RabbitMQ does not answer acknowledgements: that is the most it can be asked for."""
        await taken[-1].claim.ack(multiple=True)


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[QuorumQueueConnection]:
    import aio_pika  # only where it is installed

    async with await aio_pika.connect(address) as connection:
        channel = await connection.channel(publisher_confirms=True)
        queue = await channel.declare_queue(QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
        yield QuorumQueueConnection(channel, queue)
