"""See tests/brokers/fixtures.py."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from tests.brokers.client import LOOK_SECONDS, Client
from tests.brokers.cluster import PATIENCE, Node
from tests.brokers.fixtures import Connect, broker, connect, queue, start_cluster
from tests.brokers.storage import Storage, running_storage

__all__ = ["broker", "connect", "queue", "start_cluster"]


@pytest.fixture(scope="session")
def storage() -> Iterator[Storage]:
    with running_storage() as storage:
        yield storage


@pytest.fixture
def connect_when_available(connect: Connect) -> Callable[..., Awaitable[Client]]:
    """Connects as soon as the node has found its storage again; with an id, as soon as that is free."""

    async def connect_when_available(node: Node, **how: Any) -> Client:
        async with asyncio.timeout(PATIENCE):
            while not (client := await connect(node, **how)).id:
                await asyncio.sleep(LOOK_SECONDS)
        return client

    return connect_when_available
