"""A quorum queue of RabbitMQ on one node, with publisher confirms. Acknowledgements are never answered."""

import asyncio
import logging
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.local_server import free_port, listens
from benchmarks.peers.rabbitmq import end_name_server, environment, program
from faults.peers import Taken
from willow_site.processes import ProcessIdentity, ends_with_parent, wait_until

NAME = "RabbitMQ quorum queue"
QUEUE = "faults"
BATCH = 4
START_SECONDS = 600
NUMBERS = re.compile(r"\d+")


class RabbitServer:
    """A message has no number that clients are told: they make one of its body."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environ = environment(str(folder), free_port(), free_port())
        self.port = int(self._environ["RABBITMQ_NODE_PORT"])
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    def start(self) -> str:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [program()],
                env=self._environ,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=ends_with_parent(signal.SIGTERM),
            )
        if not wait_until(lambda: listens(self.port), START_SECONDS):
            raise RuntimeError(f"RabbitMQ did not listen within {START_SECONDS} seconds.")
        return self.url

    def running_process(self) -> ProcessIdentity | None:
        return ProcessIdentity.of(self._process.pid) if self._process and self._process.poll() is None else None

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        end_name_server(self._environ)
        shutil.rmtree(self._folder, ignore_errors=True)

    def left(self) -> list[str]:
        return asyncio.run(_left(self.url))


async def _left(url: str) -> list[str]:
    """Taken and given back."""
    connection = await connect(url, "look")
    bodies = []
    while (message := await connection.get()) is not None:
        bodies.append(message.body.decode())
    await connection.close()
    return bodies


class RabbitConnection:
    def __init__(self, connection: Any, channel: Any, queue: Any) -> None:
        self._connection = connection
        self._channel = channel
        self._queue = queue
        self._claims: dict[int, Any] = {}

    async def post(self, body: str) -> int | None:
        import aio_pika

        message = aio_pika.Message(body.encode(), delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await self._channel.default_exchange.publish(message, routing_key=QUEUE)
        return _number(body)

    async def get(self) -> Any:
        return await self._queue.get(fail=False)

    async def take(self) -> Sequence[Taken]:
        taken: list[Taken] = []
        while len(taken) < BATCH and (message := await self.get()) is not None:
            body = message.body.decode()
            self._claims[_number(body)] = message
            taken.append(Taken(_number(body), int(message.headers.get("x-delivery-count", 0)) + 1, body))
        return taken

    async def finish(self, taken: Taken) -> bool | None:
        await self._claims.pop(taken.number).ack()
        return None

    async def close(self) -> None:
        await self._connection.close()


def _number(body: str) -> int:
    """Of a body such as `posters4-2 17`: of the process, its client and the post."""
    process, client, post = NUMBERS.findall(body)
    return int(process) * 1_000_000_000 + int(client) * 100_000_000 + int(post)


async def connect(url: str, name: str) -> RabbitConnection:
    import aio_pika  # only where it is installed

    logging.getLogger("aiormq").setLevel(logging.CRITICAL)  # it tells of every connection that a fault ends
    connection = await aio_pika.connect(url, timeout=5)
    channel = await connection.channel(publisher_confirms=True)
    queue = await channel.declare_queue(QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
    return RabbitConnection(connection, channel, queue)
