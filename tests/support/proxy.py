"""A TCP proxy between a client and its broker that does to time and connections what networks do."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

NO_LINGER = struct.pack("ii", 1, 0)  # closing sends a reset instead of an orderly end
CHUNK = 65536  # bytes


class Proxy:
    """Nothing that goes through is changed, reordered or lost, unless the connection is reset."""

    def __init__(self, port: int) -> None:
        self._port = port  # of the broker
        self._writers: set[asyncio.StreamWriter] = set()
        self._commands, self._answers = asyncio.Event(), asyncio.Event()  # set while they flow
        self.flow()
        self.delay = 0.0  # seconds that everything takes longer
        self.connections = 0  # that were ever made

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/connect/"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)

    async def stop(self) -> None:
        self._server.close()
        self.reset()

    def lead_to(self, port: int) -> None:
        """New connections go elsewhere; those that are there stay."""
        self._port = port

    def stall(self) -> None:
        """From now on nothing arrives, in either direction; connections stay open."""
        self._commands.clear()
        self.stall_answers()

    def stall_answers(self) -> None:
        """From now on nothing arrives at the client."""
        self._answers.clear()

    def flow(self) -> None:
        self._commands.set()
        self._answers.set()

    def reset(self) -> None:
        """Tear down all connections, with whatever is on its way in them."""
        for writer in list(self._writers):
            if not writer.is_closing():
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            broker_reader, broker_writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, broker_writer}
        await asyncio.gather(
            self._pass_on(reader, broker_writer, self._commands),
            self._pass_on(broker_reader, writer, self._answers),
        )
        self._writers -= {writer, broker_writer}

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flows: asyncio.Event) -> None:
        try:
            while data := await reader.read(CHUNK):
                await flows.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def proxied(port: int) -> AsyncIterator[Proxy]:
    proxy = Proxy(port)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
