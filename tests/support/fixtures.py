"""Fixtures of the suites that talk to real brokers. Their conftest.py files import them from here."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack
from functools import cache
from typing import Any

import pytest

from tests.support.client import LOOK_SECONDS, Client, connected
from tests.support.cluster import PATIENCE, Cluster, Node, running_cluster
from tests.support.databases import Databases
from willow_site.embedded.valkey import throwaway_valkey

Connect = Callable[..., Awaitable[Client]]
StartCluster = Callable[..., AbstractContextManager[Cluster]]


# Of nodes that no test harms: on a busy machine one may stand still for seconds, and would be taken for dead.
NEVER_LAPSE = {"WILLOW_NODE_LAPSE": "60"}


@cache  # each folder of tests has its own instance of a fixture, but one template is enough
def _databases() -> Databases:
    return Databases(os.environ["DATABASE_URL"])


@pytest.fixture(scope="session")
def start_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartCluster]:
    """Starts clusters on fresh databases: `with start_cluster(nodes=2, WILLOW_...="...") as cluster`."""

    def start(**settings: Any) -> AbstractContextManager[Cluster]:
        return running_cluster(_databases(), tmp_path_factory.mktemp("cluster"), **settings)

    yield start
    _databases().drop_template()
    _databases.cache_clear()


@pytest.fixture(scope="package")
def broker(start_cluster: StartCluster) -> Iterator[Cluster]:
    """One node and a reaper, shared by the tests of a folder that do it no harm. Idle ones would slow others down."""
    with start_cluster(reaper=True, **NEVER_LAPSE) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def three_nodes(start_cluster: StartCluster) -> Iterator[Cluster]:
    """Three nodes that wake each other over Redis, and a reaper; shared by the tests of a folder that do no harm."""
    with (
        throwaway_valkey() as redis_url,
        start_cluster(nodes=3, reaper=True, REDIS_URL=redis_url, **NEVER_LAPSE) as cluster,
    ):
        yield cluster


@pytest.fixture
async def connect(request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    """Connects to a node, or to the shared broker; the connections end with the test."""
    async with AsyncExitStack() as connections:

        async def connect(node: Node | None = None, **how: Any) -> Client:
            url = (node or request.getfixturevalue("broker").node).url
            return await connections.enter_async_context(connected(url, **how))

        yield connect


@pytest.fixture
def connect_when_available(connect: Connect) -> Connect:
    """Connects as soon as the node has found its storage again; with an id, as soon as that is free."""

    async def connect_when_available(node: Node, **how: Any) -> Client:
        async with asyncio.timeout(PATIENCE):
            while not (client := await connect(node, **how)).id:
                await asyncio.sleep(LOOK_SECONDS)
        return client

    return connect_when_available


@pytest.fixture
async def client(connect: Connect) -> Client:
    return await connect()


@pytest.fixture
async def other(connect: Connect) -> Client:
    """A second client of the shared broker."""
    return await connect()


@pytest.fixture
def queue() -> str:
    """A queue that no other test uses."""
    return f"queue-{uuid.uuid4().hex}"


@pytest.fixture
def service() -> str:
    """A service that no other test uses."""
    return f"service-{uuid.uuid4().hex}"


@pytest.fixture
def name() -> str:
    """A name under which no other test registers a client."""
    return f"client-{uuid.uuid4().hex}"
