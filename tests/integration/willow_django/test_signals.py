"""The signals of Django's tasks. The worker sends those of beginning and end, with the result as it is then."""

from pathlib import Path

import pytest

from tests.integration.willow_django.conftest import Project
from tests.integration.willow_django.test_tasks import LEFT, NOT_SUCCESSFUL, RUN
from tests.support.cluster import PATIENCE, Cluster, wait_until

SIGNALS = ("enqueued", "started", "finished")


@pytest.fixture
def heard(shop: Project, tmp_path: Path) -> Path:
    """The folder in which receivers leave what they heard."""
    shop.environ["SHOP_HEARS"] = str(tmp_path)
    return tmp_path


@pytest.mark.parametrize("run_in", ["thread", "process"])
def test_each_signal_tells_how_the_task_is_doing(shop: Project, heard: Path, run_in: str) -> None:
    with shop.running("willow_worker", "--run-in", run_in):
        ids = shop.python(
            RUN
            + """
results = [task.enqueue(*given) for task, given in ((jobs.add, (1, 1)), (jobs.add_later, (1, 1)), (jobs.broken, ()))]
print(json.dumps([ended(result).id for result in results]))
"""
        )
        files = [[heard / f"{id}.{name}" for name in SIGNALS] for id in ids]
        assert wait_until(lambda: all(file.exists() for of_task in files for file in of_task), PATIENCE)
    assert [[file.read_text() for file in of_task] for of_task in files] == [
        ["READY", "RUNNING", "SUCCESSFUL"],
        ["READY", "RUNNING", "SUCCESSFUL"],
        ["READY", "RUNNING", "FAILED"],
    ]
    assert "in broken" in (heard / f"{ids[2]}.finished.handled").read_text()


def test_a_receiver_that_hangs_keeps_no_task_from_ending(broker: Cluster, shop: Project, heard: Path) -> None:
    ids = shop.python(
        RUN
        + """
with transaction.atomic():
    results = [jobs.add.enqueue(1, 1) for _ in range(20)]
print(json.dumps([result.id for result in results]))
"""
    )
    hangs = heard / f"{ids[0]}.finished.hangs"
    hangs.touch()
    with shop.running("willow_worker", "--concurrency", "1", "--prefetch", "4"):
        assert wait_until(lambda: not broker.query(NOT_SUCCESSFUL, ids), 2 * PATIENCE)
        assert wait_until(lambda: not broker.query(LEFT, f"{shop.prefix}default"), PATIENCE)
        assert (heard / f"{ids[0]}.finished").read_text() == "SUCCESSFUL"
        hangs.unlink()


def test_a_worker_that_stops_meanwhile_ends_the_task_nevertheless(
    broker: Cluster, shop: Project, heard: Path, said: Path
) -> None:
    """Given back, one that failed would run again."""
    [id] = shop.python(RUN + "print(json.dumps([jobs.broken.enqueue().id]))")
    hangs = heard / f"{id}.finished.hangs"
    hangs.touch()
    with shop.running("willow_worker", "--drain-timeout", "0.1", said=said) as worker:
        assert wait_until((heard / f"{id}.finished").exists, 2 * PATIENCE)
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
    assert "without all receivers" in said.read_text()
    assert not broker.query(LEFT, f"{shop.prefix}default")


@pytest.mark.parametrize("task", ["add", "add_later"])
def test_the_time_limit_holds_for_receivers_of_the_start(shop: Project, heard: Path, task: str) -> None:
    [id] = shop.python(RUN + f"print(json.dumps([jobs.{task}.enqueue(1, 1).id]))")
    hangs = heard / f"{id}.started.hangs"
    hangs.touch()
    with shop.running("willow_worker", "--time-limit", "0.5"):
        told = shop.python(RUN + f"print(json.dumps(told(found({id!r}))))")
        hangs.unlink()
    assert [path for path, _ in told["errors"]] == ["willow_django.limits.TimeLimitExceeded"]
