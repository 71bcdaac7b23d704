"""beanstalkd with its binlog flushed for every write, through its text protocol."""

import asyncio
import math
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from benchmarks.peers.connection import Taken
from benchmarks.peers.local_server import free_port, not_on_path, running

NAME = "beanstalkd"
CONFIRM = "written to the binlog and flushed"
IN_GROUPS = False  # each command is flushed and answered by itself
PROGRAM = "beanstalkd"
TIME_TO_RUN = 300  # seconds


def missing() -> str | None:
    return not_on_path(PROGRAM, "beanstalkd")


@contextmanager
def serving() -> Iterator[str]:
    folder, port = tempfile.mkdtemp(prefix="willow-beanstalkd-"), free_port()
    flush_every_write = ("-f", "0")
    try:
        with running([PROGRAM, "-l", "127.0.0.1", "-p", str(port), "-b", folder, *flush_every_write], port):
            yield str(port)
    finally:
        shutil.rmtree(folder)


class BeanstalkConnection:
    """Commands are sent together and their answers read one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._one_at_a_time = asyncio.Lock()

    async def post(self, bodies: Sequence[bytes]) -> None:
        async with self._one_at_a_time:
            self._writer.writelines(b"put 0 0 %d %d\r\n%s\r\n" % (TIME_TO_RUN, len(body), body) for body in bodies)
            for _ in bodies:
                await self._answer(b"INSERTED")

    async def take(self, count: int, wait: float = 0.0) -> Sequence[Taken]:
        """It waits for the first message only, in whole seconds."""
        first = await self._reserve(1, math.ceil(wait))
        return first + await self._reserve(count - 1, 0) if first and count > 1 else first

    async def _reserve(self, count: int, wait: int) -> list[Taken]:
        self._writer.write(b"reserve-with-timeout %d\r\n" % wait * count)
        taken = []
        for _ in range(count):
            kind, *fields = (await self._reader.readline()).split()
            if kind == b"RESERVED":
                number, size = fields
                content = await self._reader.readexactly(int(size) + len(b"\r\n"))
                taken.append(Taken(number, content[: int(size)]))
        return taken

    async def finish(self, taken: Sequence[Taken]) -> None:
        self._writer.writelines(b"delete %s\r\n" % message.claim for message in taken)
        for _ in taken:
            await self._answer(b"DELETED")

    async def _answer(self, wanted: bytes) -> None:
        answer = await self._reader.readline()
        if not answer.startswith(wanted):
            raise RuntimeError(f"beanstalkd answered {answer!r}.")


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[BeanstalkConnection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(address))
    try:
        yield BeanstalkConnection(reader, writer)
    finally:
        writer.close()
        await writer.wait_closed()
