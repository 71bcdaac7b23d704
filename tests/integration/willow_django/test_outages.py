"""The project's database, or the broker, is away for a while: every task is run once, and none is lost."""

from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.integration.willow_django.conftest import Project, project_beside
from tests.integration.willow_django.test_tasks import LEFT, READY, RUN
from tests.integration.willow_django.waiting_tasks import WaitingTasks
from tests.support.cluster import PATIENCE, THROUGH_RESTARTS, Cluster, wait_until
from tests.support.fixtures import NEVER_LAPSE, StartCluster
from tests.support.launched_willow import free_port
from tests.support.storage import Storage


def waits_for_the_database(said: Path) -> bool:
    return "wait for the database" in said.read_text() or "waits for the database" in said.read_text()


def once_and_well(project: Project, ids: list[str]) -> bool:
    told = project.python(RUN + f"print(json.dumps([told(found(id)) for id in {ids!r}]))")
    return {(one["status"], one["attempts"], len(one["errors"])) for one in told} == {("SUCCESSFUL", 1, 0)}


@pytest.mark.parametrize("run_in", ["thread", "process"])
def test_what_ended_while_the_database_was_away_is_stored_when_it_is_back(
    broker: Cluster, shop_on_postgres: Project, storage: Storage, waiting: WaitingTasks, said: Path, run_in: str
) -> None:
    """Those that run end, and those that are held wait."""
    project = shop_on_postgres
    ids = waiting.enqueue(project, 12)
    options = ("--concurrency", "2", "--prefetch", "4", "--run-in", run_in)
    with project.running("willow_worker", *options, said=said):
        assert wait_until(lambda: waiting.begun == 2, 2 * PATIENCE)
        storage.stop()
        waiting.end()
        assert wait_until(lambda: waits_for_the_database(said), PATIENCE)
        storage.start()
        assert once_and_well(project, ids)
    assert waiting.begun == 12
    assert not broker.query(LEFT, f"{project.prefix}default.dead")


def test_a_worker_that_starts_while_the_database_is_away_waits_for_it(
    broker: Cluster, shop_on_postgres: Project, storage: Storage, waiting: WaitingTasks, said: Path
) -> None:
    """And gives back without an attempt spent what it holds if it is stopped meanwhile."""
    project, queue = shop_on_postgres, f"{shop_on_postgres.prefix}default"
    ids = waiting.enqueue(project, 2)
    waiting.end()
    storage.stop()
    with project.running("willow_worker", "--drain-timeout", "3600", said=said):
        assert wait_until(lambda: waits_for_the_database(said), PATIENCE)
    assert broker.query(READY, queue) == [(0,)] * 2
    said.unlink()
    with project.running("willow_worker", said=said):
        assert wait_until(lambda: waits_for_the_database(said), PATIENCE)
        storage.start()
        assert once_and_well(project, ids)


@pytest.mark.parametrize("age", [0, None])
def test_asynchronous_tasks_use_the_database_again_after_its_restart(
    shop_on_postgres: Project, storage: Storage, age: int | None
) -> None:
    """With connections that are kept, one of them may notice; and none after that."""
    project = shop_on_postgres
    project.configure_database(CONN_MAX_AGE=age)
    ask = RUN + "print(json.dumps(told(jobs.counts_records.enqueue())['status']))"
    with project.running("willow_worker", "--concurrency", "1"):
        assert project.python(ask) == "SUCCESSFUL"
        storage.stop()
        storage.start()
        if age is None:
            project.python(ask)
        assert project.python(ask) == "SUCCESSFUL"


@pytest.fixture
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    """One that the test may stop."""
    with start_cluster(reaper=True, **NEVER_LAPSE) as cluster:
        yield cluster


def health(port: int) -> int | None:
    try:
        return int(urlopen(f"http://127.0.0.1:{port}/").status)
    except HTTPError as answer:
        return answer.code
    except OSError:
        return None


def test_a_worker_goes_on_when_the_broker_is_back(cluster: Cluster, waiting: WaitingTasks) -> None:
    """What runs is run once, and what ended meanwhile is told then. Whoever asks hears that it is not well."""
    project, port = project_beside(cluster), free_port()
    ids = waiting.enqueue(project, 6) + waiting.enqueue(project, 6, "awaits_until_there_is")
    with project.running("willow_worker", "--concurrency", "4", "--health-port", str(port)):
        for restart in (1, 2):
            assert wait_until(lambda: waiting.begun >= 4 and health(port) == 200, THROUGH_RESTARTS)
            cluster.node.stop()
            assert wait_until(lambda: health(port) == 503, PATIENCE)
            if restart == 2:
                waiting.end()
            cluster.node.start()
            cluster.node.wait_until_ready()
        assert once_and_well(project, ids)
    assert waiting.begun == 12
    assert not cluster.query(LEFT, f"{project.prefix}default")
    assert not cluster.query(LEFT, f"{project.prefix}default.dead")
