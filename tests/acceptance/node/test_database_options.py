"""A broker whose DATABASE_URL has options."""

from tests.support.client import connected
from tests.support.fixtures import StartCluster

OPTIONS = "?connect_timeout=3&application_name=orders&options=-c%20work_mem%3D8MB&sslmode=prefer"
NAMES = "SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database()"


async def test_they_work(start_cluster: StartCluster, queue: str) -> None:
    with start_cluster(database_options=OPTIONS) as cluster:
        async with connected(cluster.node.url) as client:
            await client.post(queue, "a")
            await client.finish(await client.fetch(queue))
        names = {name for (name,) in cluster.query(NAMES)}
        assert {"willow posts (orders)", "willow claims (orders)", "willow jobs (orders)"} <= names
