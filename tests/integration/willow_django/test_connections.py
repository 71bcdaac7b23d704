"""What tasks do with the database, and what they leave behind there, is no matter of other tasks."""

from pathlib import Path

import pytest

from tests.integration.willow_django.conftest import Project
from tests.integration.willow_django.test_tasks import RUN
from tests.integration.willow_django.waiting_tasks import WaitingTasks
from tests.support.cluster import PATIENCE, Cluster, wait_until


@pytest.mark.parametrize("run_in", ["thread", "process"])
def test_a_transaction_that_a_task_left_open_is_ended(shop: Project, said: Path, run_in: str) -> None:
    shop.configure_database(CONN_MAX_AGE=None)
    with shop.running("willow_worker", "--concurrency", "1", "--prefetch", "0", "--run-in", run_in, said=said):
        told = shop.python(
            RUN
            + """
results = [task.enqueue() for task in (jobs.leaves_a_transaction, jobs.is_in_a_transaction)]
print(json.dumps([results[0].id, *(told(result) for result in results)]))
"""
        )
    id, *ends = told
    assert [(end["status"], end["value"]) for end in ends] == [("SUCCESSFUL", None), ("SUCCESSFUL", False)]
    assert f"A transaction that the task {id} has left open" in said.read_text()


def test_a_task_commits_by_itself_where_the_project_does(broker: Cluster, shop: Project) -> None:
    """Also where connections are kept: no other task goes on with its transaction."""
    shop.configure_database(AUTOCOMMIT=False, CONN_MAX_AGE=None)
    with shop.running("willow_worker", "--concurrency", "1"):
        one = shop.python(
            RUN
            + """
result = jobs.which_connection.enqueue()
transaction.commit()
print(json.dumps(told(result)["value"]))
"""
        )
        in_transaction = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND state LIKE 'idle in transaction%%'"
        assert not broker.query(in_transaction, one)


def test_an_asynchronous_task_that_blocks_its_thread_holds_no_other_one_up(
    shop: Project, waiting: WaitingTasks
) -> None:
    waiting.enqueue(shop, 1, "waits_in_a_thread")
    with shop.running("willow_worker", "--concurrency", "2"):
        assert wait_until(lambda: waiting.begun == 1, 2 * PATIENCE)
        assert shop.python(RUN + "print(json.dumps(told(jobs.counts_records.enqueue())['status']))") == "SUCCESSFUL"
        waiting.end()


def test_a_transaction_that_an_asynchronous_task_left_open_is_logged(shop: Project, said: Path) -> None:
    with shop.running("willow_worker", said=said):
        id = shop.python(RUN + "print(json.dumps(ended(jobs.leaves_a_transaction_later.enqueue()).id))")
        assert wait_until(lambda: f"A transaction that the task {id} has left open" in said.read_text(), PATIENCE)


def test_a_connection_that_cannot_be_closed_is_no_secret(shop: Project, said: Path) -> None:
    with shop.running("willow_worker", said=said):
        assert (
            shop.python(RUN + "print(json.dumps(told(jobs.breaks_its_connection.enqueue())['status']))") == "SUCCESSFUL"
        )
        assert wait_until(lambda: "it cannot be closed" in said.read_text(), PATIENCE)


def test_connections_in_other_threads_of_asynchronous_tasks_do_not_stay(broker: Cluster, shop: Project) -> None:
    """Without CONN_MAX_AGE."""
    with shop.running("willow_worker"):
        one = shop.python(RUN + "print(json.dumps(told(jobs.which_connection_in_a_thread.enqueue())['value']))")
        assert wait_until(lambda: not broker.query("SELECT 1 FROM pg_stat_activity WHERE pid = %s", one), PATIENCE)


def test_the_connection_of_an_asynchronous_task_ends_with_it(broker: Cluster, shop: Project) -> None:
    shop.configure_database(CONN_MAX_AGE=None)
    with shop.running("willow_worker"):
        one, another = shop.python(RUN + "print(json.dumps(told(jobs.which_connections.enqueue())['value']))")
        assert one == another
        assert wait_until(lambda: not broker.query("SELECT 1 FROM pg_stat_activity WHERE pid = %s", one), PATIENCE)
