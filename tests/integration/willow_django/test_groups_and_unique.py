"""Tasks that must not run beside each other, or not twice."""

import json
from pathlib import Path

import pytest

from tests.integration.willow_django.conftest import Project
from tests.integration.willow_django.test_tasks import RUN
from tests.support.cluster import PATIENCE, Cluster, wait_until

IN_GROUP = """
from willow_django.tasks import WillowTask
in_group = WillowTask(func=jobs.until_there_is.func, backend="default", group="customer 17")
"""


@pytest.fixture
def grouping(shop: Project) -> Project:
    shop.environ["SHOP_TASK_OPTIONS"] = json.dumps({"GROUP_IN_FLIGHT": 1})
    return shop


def test_tasks_of_a_group_run_one_after_the_other(grouping: Project, tmp_path: Path) -> None:
    go = tmp_path / "go"
    ids = grouping.python(RUN + IN_GROUP + f"print(json.dumps([in_group.enqueue({str(go)!r}).id for _ in range(2)]))")
    with grouping.running("willow_worker", "--concurrency", "4"):
        assert wait_until(lambda: bool(list(tmp_path.glob("*.begun"))), 2 * PATIENCE)
        # A task beside the group says that the worker has places left.
        assert grouping.python(RUN + "print(json.dumps(ended(jobs.add.enqueue(1, 2)).return_value))") == 3
        assert len(list(tmp_path.glob("*.begun"))) == 1
        go.touch()
        told = grouping.python(RUN + f"print(json.dumps([told(jobs.until_there_is.get_result(id)) for id in {ids!r}]))")
    assert [result["status"] for result in told] == ["SUCCESSFUL"] * 2
    assert len(list(tmp_path.glob("*.begun"))) == 2


def test_a_worker_that_comes_first_makes_its_queues_for_groups(broker: Cluster, grouping: Project) -> None:
    made = "SELECT group_in_flight, retry_limit FROM queues_queue WHERE name = %s"
    with grouping.running("willow_worker"):
        assert wait_until(lambda: broker.query(made, f"{grouping.prefix}default") == [(1, 1000)], 2 * PATIENCE)
        # It heeds signals to stop when it works, and makes its queues before that.
        assert grouping.python(RUN + "print(json.dumps(ended(jobs.add.enqueue(1, 2)).return_value))") == 3


def test_a_unique_task_is_stored_once_while_it_waits(shop: Project) -> None:
    """The result of the second stays as it was; when the first has ended, the text is free again."""
    unique = RUN + (
        "from willow_django.tasks import WillowTask\n"
        "unique = WillowTask(func=jobs.add.func, backend='default', unique=lambda a, b: f'add to {a}')\n"
    )
    first, second, other = shop.python(
        unique + "print(json.dumps([unique.enqueue(a, b).id for a, b in [(1, 1), (1, 2), (2, 2)]]))"
    )
    with shop.running("willow_worker", "--concurrency", "1"):
        values, status, again = shop.python(
            unique
            + f"""
values = [ended(jobs.add.get_result(id)).return_value for id in ({first!r}, {other!r})]
again = ended(unique.enqueue(1, 3)).return_value
print(json.dumps([values, jobs.add.get_result({second!r}).status, again]))
"""
        )
    assert (values, status, again) == ([2, 4], "READY", 4)
