"""See tests/support/fixtures.py."""

import os
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import NEVER_LAPSE, Connect, StartCluster, broker, connect, name, queue, start_cluster

__all__ = ["broker", "connect", "name", "queue", "start_cluster"]

POSTERS = 20


@pytest.fixture(scope="package")
def four_nodes(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(nodes=4, reaper=True, REDIS_URL=os.environ["REDIS_URL"], **NEVER_LAPSE) as cluster:
        yield cluster


@pytest.fixture
async def posters(four_nodes: Cluster, connect: Connect) -> AsyncIterator[list[Client]]:
    """Clients on all four nodes in turn."""
    yield [await connect(four_nodes.nodes[number % 4]) for number in range(POSTERS)]
