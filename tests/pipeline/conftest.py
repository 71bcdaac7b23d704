"""One Spark session for all tests of the pipeline, because starting one takes ten seconds; a journal for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pipeline.run as run_module
from pipeline import computing, minutes
from pipeline.facts.catalogue import FACTS
from pipeline.options import Options
from pipeline.session import start_session
from pipeline.writing.tables import QUEUE_FACTS
from tests.pipeline.kit import Ledger
from tests.support.databases import Databases
from tests.support.fixtures import StartCluster, _databases, broker, client, connect, queue, start_cluster

__all__ = ["broker", "client", "connect", "queue", "start_cluster"]

# With few rows, Spark's time goes into compiling code for many: let it interpret, and compile no more than it must.
QUICK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    options = Options(database_url="", read_url="", archive="", master="local[2]", spark=QUICK)
    session = start_session(options, tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def databases(start_cluster: StartCluster) -> Databases:
    """Those that clusters are made on; their template goes with `start_cluster`."""
    return _databases()


@pytest.fixture
def ledger(databases: Databases, tmp_path: Path) -> Iterator[Ledger]:
    """A fresh database with an empty journal, and an empty archive."""
    url = databases.make()
    yield Ledger(url, tmp_path / "archive")
    databases.drop(url)


@pytest.fixture
def only_queue_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests to which one table tells as much as all of them, and which run often."""
    monkeypatch.setattr(computing, "FACTS", [facts for facts in FACTS if facts[0] is QUEUE_FACTS])
    monkeypatch.setattr(minutes, "TIMED", [facts for facts in minutes.TIMED if facts[0].name == QUEUE_FACTS.name])
    monkeypatch.setattr(run_module, "write_findings", lambda *_: 0)
