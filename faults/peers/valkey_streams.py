"""Streams of Valkey, the free Redis, with a flush for every command and XAUTOCLAIM for claims that run out."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import redis
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from benchmarks.peers.valkey_streams import DurableValkey
from faults.peers import CLAIM_SECONDS, Taken

NAME = "Valkey streams"
STREAM, GROUP = "faults", "workers"
BATCH, WAIT_MILLISECONDS = 4, 200


class StreamServer(DurableValkey):
    def left(self) -> list[str]:
        with redis.Redis.from_url(self.url, protocol=2) as client:
            entries: Any = client.xrange(STREAM)
            return [fields[b"body"].decode() for _, fields in entries]


class StreamConnection:
    """A number is made of the two parts of an entry's ID."""

    def __init__(self, client: Redis, name: str) -> None:
        self._redis: Any = client  # its types know neither bytes nor the protocol's version
        self._name = name

    async def post(self, body: str) -> int | None:
        return _number(await self._redis.xadd(STREAM, {"body": body}))

    async def take(self) -> Sequence[Taken]:
        """What others let run out goes first. How often an entry was delivered is known only by a look of its own."""
        answer: Any = await self._redis.xautoclaim(STREAM, GROUP, self._name, CLAIM_SECONDS * 1000, count=BATCH)
        claimed = [entry for entry in answer[1] if entry[1]]
        fresh: Any = []
        if not claimed:
            streams = {STREAM: ">"}
            read: Any = await self._redis.xreadgroup(GROUP, self._name, streams, BATCH, block=WAIT_MILLISECONDS)
            fresh = [entry for _, entries in read or () for entry in entries]
        return [await self._taken(*entry) for entry in (*claimed, *fresh)]

    async def _taken(self, entry_id: bytes, fields: dict[bytes, bytes]) -> Taken:
        pending: Any = await self._redis.xpending_range(STREAM, GROUP, entry_id, entry_id, 1)
        attempt = pending[0]["times_delivered"] if pending else 1
        return Taken(_number(entry_id), attempt, fields[b"body"].decode())

    async def finish(self, taken: Taken) -> bool:
        entry_id = f"{taken.number // 1_000_000}-{taken.number % 1_000_000}"
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.xack(STREAM, GROUP, entry_id)
            pipeline.xdel(STREAM, entry_id)
            acknowledged, _ = await pipeline.execute()
        return bool(acknowledged)

    async def close(self) -> None:
        await self._redis.aclose()


def _number(entry_id: bytes) -> int:
    time, _, sequence = entry_id.decode().partition("-")
    return int(time) * 1_000_000 + int(sequence)


async def connect(url: str, name: str) -> StreamConnection:
    client = Redis.from_url(url, single_connection_client=True, protocol=2, socket_timeout=10, socket_connect_timeout=5)
    with suppress(ResponseError):  # the group is there already
        await client.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    return StreamConnection(client, name)
