"""From posts on a real broker to facts in PostgreSQL, read as an analyst reads."""

from pathlib import Path

from pyspark.sql import SparkSession

from tests.pipeline.kit import Ledger
from tests.support.client import Client
from tests.support.cluster import Cluster


async def test_what_clients_did_is_what_the_facts_say(
    broker: Cluster, client: Client, queue: str, spark: SparkSession, tmp_path: Path
) -> None:
    await client.create(queue, tags=["eu"], retry_limit=1)
    for _ in range(5):
        await client.post(queue, "12345", tags=["eu"])
    for _ in range(3):
        await client.finish(await client.fetch(queue, tags=["eu"]))
    await client.pop(queue, tags=["eu"])
    await client.fail(await client.fetch(queue, tags=["eu"]), error="order 4711 is gone")
    ledger = Ledger(broker.database_url, tmp_path / "archive")
    ledger.settle()
    ledger.run(spark)
    assert ledger.query(
        "SELECT posted, finished, popped, failed, dead, dead_by_reason, bytes, queue_tags, work_max > 0"
        " FROM willow_queue_facts WHERE grain = 'day' AND queue_name = %s",
        queue,
    ) == [(5, 3, 1, 1, 1, {"failed": 1}, 25, ["eu"], True)]
    assert ledger.query(
        "SELECT count, reason, example FROM willow_dead_letter_clusters_v1 WHERE queue_name = %s", queue
    ) == [(1, "failed", "order 4711 is gone")]
    assert ledger.query("SELECT finished FROM willow_node_facts WHERE grain = 'day'") == [(3,)]
