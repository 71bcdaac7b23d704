"""Willow's own services, through its Python client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import willow_client

from benchmarks.peers.requests import Ask

SERVICE = "echo"


@asynccontextmanager
async def asking(address: str) -> AsyncIterator[Ask]:
    async with willow_client.connect(address) as client:

        async def ask(body: bytes) -> None:
            await client.request(SERVICE, body)

        yield ask


@asynccontextmanager
async def answering(address: str) -> AsyncIterator[None]:
    async def echo(request: willow_client.Request) -> bytes:
        return request.body

    async with willow_client.serve(address, SERVICE, echo):
        yield
