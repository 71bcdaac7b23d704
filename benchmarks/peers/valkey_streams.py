"""Streams of Valkey, the free Redis, with a flush to disk for every command."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from benchmarks.peers.connection import Taken
from willow_site.embedded.account import service_account
from willow_site.embedded.binaries import valkey_binary
from willow_site.embedded.errors import EmbeddedServerError
from willow_site.embedded.valkey import ValkeyServer

NAME = "Valkey streams"
CONFIRM = "appended to the log and flushed"
STREAM, GROUP = "bench", "workers"
ALL_NEW = ">"


def missing() -> str | None:
    try:
        valkey_binary(service_account())
    except EmbeddedServerError as error:
        return str(error)
    return None


class DurableValkey(ValkeyServer):
    """Willow's own Valkey keeps nothing; this one keeps everything."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ends_with_starter=True)
        self.data = folder / "data"
        self.data.mkdir()
        self._account().give(self.data)

    def _standard_input(self, port: int) -> bytes:
        forgetful = super()._standard_input(port).decode()
        durable = forgetful.replace("appendonly no", f"dir {self.data}\nappendonly yes\nappendfsync always")
        return durable.encode()


@contextmanager
def serving() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="willow-valkey-"))
    folder.chmod(0o711)  # its account must pass through
    server = DurableValkey(folder)
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(folder)


class StreamConnection:
    def __init__(self, redis: Redis, consumer: str) -> None:
        self._redis = redis
        self._consumer = consumer

    async def post(self, bodies: Sequence[bytes]) -> None:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for body in bodies:
                pipeline.xadd(STREAM, {"body": body})
            await pipeline.execute()

    async def take(self, count: int, wait: float = 0.0) -> Sequence[Taken]:
        block = round(wait * 1000) or None
        answer = await self._redis.xreadgroup(GROUP, self._consumer, {STREAM: ALL_NEW}, count=count, block=block)
        return [Taken(number, fields[b"body"]) for _, entries in answer for number, fields in entries]

    async def finish(self, taken: Sequence[Taken]) -> None:
        numbers = [message.claim for message in taken]
        async with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.xack(STREAM, GROUP, *numbers)
            pipeline.xdel(STREAM, *numbers)
            await pipeline.execute()


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[StreamConnection]:
    async with Redis.from_url(address, single_connection_client=True, protocol=2) as redis:
        with suppress(ResponseError):  # the group is there already
            await redis.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        task = asyncio.current_task()
        yield StreamConnection(redis, f"{id(redis)}-{task.get_name() if task else ''}")
