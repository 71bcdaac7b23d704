"""What tasks do with the database, and what they leave behind there, is no matter of other tasks."""

import pytest

from tests.integration.willow_django.conftest import Project
from tests.integration.willow_django.test_tasks import RUN
from tests.integration.willow_django.waiting_tasks import WaitingTasks
from tests.support.cluster import PATIENCE, Cluster, wait_until


@pytest.mark.parametrize("run_in", ["thread", "process"])
def test_a_transaction_that_a_task_left_open_is_ended(shop: Project, run_in: str) -> None:
    shop.configure_database(CONN_MAX_AGE=None)
    with shop.running("willow_worker", "--concurrency", "1", "--prefetch", "0", "--run-in", run_in):
        told = shop.python(
            RUN
            + """
results = [task.enqueue() for task in (jobs.leaves_a_transaction, jobs.is_in_a_transaction)]
print(json.dumps([told(result) for result in results]))
"""
        )
    assert [(result["status"], result["value"]) for result in told] == [("SUCCESSFUL", None), ("SUCCESSFUL", False)]


def test_an_asynchronous_task_that_blocks_its_thread_holds_no_other_one_up(
    shop: Project, waiting: WaitingTasks
) -> None:
    waiting.enqueue(shop, 1, "waits_in_a_thread")
    with shop.running("willow_worker", "--concurrency", "2"):
        assert wait_until(lambda: waiting.begun == 1, 2 * PATIENCE)
        assert shop.python(RUN + "print(json.dumps(told(jobs.counts_records.enqueue())['status']))") == "SUCCESSFUL"
        waiting.end()


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
