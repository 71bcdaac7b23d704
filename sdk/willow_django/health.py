"""How an orchestrator learns that a worker is well: a file that is touched, or a port that answers HTTP."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import willow_client

logger = logging.getLogger("willow_django")

HEALTH_SECONDS = 5.0
REQUEST_SECONDS = 5.0
ANYWHERE = "0.0.0.0"  # a probe comes from outside of the container


@asynccontextmanager
async def say_healthy(client: willow_client.Client, file: Path | None, port: int | None) -> AsyncIterator[None]:
    touching = None if file is None else asyncio.ensure_future(_touch(client, file))
    server = None if port is None else await asyncio.start_server(_answerer(client), ANYWHERE, port)
    try:
        yield
    finally:
        if touching is not None:
            touching.cancel()
        if server is not None:
            server.close()


async def _touch(client: willow_client.Client, file: Path) -> None:
    """The file's time is of the last moment at which the worker was connected."""
    while True:
        if client.is_connected:
            try:
                await asyncio.to_thread(file.touch)
            except OSError as error:
                logger.warning("The health file could not be touched: %s", error)
        await asyncio.sleep(HEALTH_SECONDS)


def _answerer(client: willow_client.Client):  # type: ignore[no-untyped-def]  # a callback of asyncio's
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """200 while the worker is connected to the broker, whatever was asked; 503 otherwise."""
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await reader.readuntil(b"\r\n\r\n")
                status, body = ("200 OK", b"ok\n") if client.is_connected else ("503 Service Unavailable", b"away\n")
                head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a probe that asks for nothing gets nothing
        finally:
            writer.close()

    return answer
