"""A worker that is told to stop takes no more, finishes what runs while it has time, and gives back the rest."""

import json
from pathlib import Path

import pytest

from tests.integration.willow_django.conftest import Project
from tests.integration.willow_django.test_attempts import STATUS
from tests.integration.willow_django.test_tasks import NOT_SUCCESSFUL, READY, RUN
from tests.integration.willow_django.waiting_tasks import WaitingTasks
from tests.support.cluster import PATIENCE, Cluster, wait_until
from tests.support.keys import make_key

# How tasks run: what they are, and where.
WAYS = pytest.mark.parametrize(
    ("task", "run_in"),
    [("until_there_is", "thread"), ("until_there_is", "process"), ("awaits_until_there_is", "thread")],
)


# Whether anybody would be sent more.
TAKES = "SELECT 1 FROM clients_node n JOIN queues_queue q ON jsonb_exists(n.free_places, q.id::text) WHERE q.name = %s"


def takes_more(broker: Cluster, queue: str) -> bool:
    return bool(broker.query(TAKES, queue))


def test_all_queues_are_left_at_once(broker: Cluster, shop: Project, waiting: WaitingTasks) -> None:
    """While tasks of both still run; they have the same time, not one queue after the other."""
    names = ("default", "emails")
    queues = [f"{shop.prefix}{name}" for name in names]
    ids = [id for name in names for id in waiting.enqueue(shop, 1, queue=name)]
    with shop.running("willow_worker", "--queues", ",".join(names), "--drain-timeout", "3600") as worker:
        assert wait_until(lambda: waiting.begun == 2, 2 * PATIENCE)
        assert wait_until(lambda: all(takes_more(broker, queue) for queue in queues), PATIENCE)
        worker.terminate()
        assert wait_until(lambda: not any(takes_more(broker, queue) for queue in queues), PATIENCE)
        for name in names:
            waiting.enqueue(shop, 1, queue=name)
        assert [broker.query(READY, queue) for queue in queues] == [[(0,)]] * 2
        waiting.end()
        assert worker.wait(PATIENCE) == 0
    assert not broker.query(NOT_SUCCESSFUL, ids)


@WAYS
def test_what_runs_is_finished(broker: Cluster, shop: Project, waiting: WaitingTasks, task: str, run_in: str) -> None:
    ids, queue = waiting.enqueue(shop, 2, task), f"{shop.prefix}default"
    with shop.running("willow_worker", "--drain-timeout", "3600", "--run-in", run_in) as worker:
        assert wait_until(lambda: waiting.begun == 2 and takes_more(broker, queue), 2 * PATIENCE)
        worker.terminate()
        assert wait_until(lambda: not takes_more(broker, queue), PATIENCE)
        waiting.end()
        assert worker.wait(PATIENCE) == 0
    assert not broker.query(NOT_SUCCESSFUL, ids)
    assert waiting.begun == 2


@WAYS
@pytest.mark.parametrize("hurried_by", ["time", "a second signal"])
def test_what_does_not_end_in_time_is_given_back(
    broker: Cluster, shop: Project, waiting: WaitingTasks, task: str, run_in: str, hurried_by: str
) -> None:
    """Without an attempt spent, so that another worker runs it; neither for the broker nor for the task."""
    ids, queue = waiting.enqueue(shop, 1, task), f"{shop.prefix}default"
    seconds = "0.1" if hurried_by == "time" else "3600"
    with shop.running("willow_worker", "--drain-timeout", seconds, "--run-in", run_in) as worker:
        assert wait_until(lambda: waiting.begun == 1 and takes_more(broker, queue), 2 * PATIENCE)
        worker.terminate()
        if hurried_by == "a second signal":
            assert wait_until(lambda: not takes_more(broker, queue), PATIENCE)
            worker.terminate()
        assert worker.wait(PATIENCE) == 0
    assert broker.query(READY, queue) == [(0,)]
    assert broker.query(STATUS, ids[0]) == [("READY",)]
    waiting.end()
    with shop.running("willow_worker", "--run-in", run_in):
        assert shop.python(RUN + f"print(json.dumps(told(found({ids[0]!r}))['attempts']))") == 1
    assert waiting.begun == 2


def test_what_was_about_to_begin_is_given_back_as_well(shop: Project) -> None:
    """It was being stored that it runs. If somebody else has the message by then, the broker counts the attempt."""
    told = shop.python(
        RUN
        + """
import asyncio
from types import SimpleNamespace
from willow_django.handling import TaskHandler
from willow_django.records import find_records
from willow_django.turns import Turns

class Records:
    def __init__(self, record):
        self.record, self.statuses, self.saving = record, [], asyncio.Event()

    async def find(self, id):
        return self.record

    async def save_before(self, record):
        self.statuses.append(record.status)
        self.saving.set()
        await asyncio.Event().wait()

    async def note(self, record):
        self.statuses.append(record.status)

async def cancelled(record, is_held):
    records, places = Records(record), SimpleNamespace(read_records=True)
    handler = TaskHandler(records, places, None, Turns(1), most_attempts=1, most_lost=1)
    text = json.dumps({"task": record.pk, "path": record.path})
    handling = asyncio.ensure_future(handler(SimpleNamespace(text=text, attempt=1, is_held=is_held)))
    await records.saving.wait()
    handling.cancel()
    await asyncio.wait({handling})
    return records.statuses, len(record.worker_ids)

[record] = find_records([jobs.add.enqueue(1, 1).id])
print(json.dumps([asyncio.run(cancelled(record, is_held)) for is_held in (True, False)]))
"""
    )
    assert told == [[["RUNNING", "READY"], 0], [["RUNNING", "READY"], 1]]


@pytest.mark.parametrize(
    ("task", "attempts"),
    [
        ("waits_in_a_thread", 0),
        ("waits_in_a_thread_of_asyncio", 0),
        ("waits_for_a_thread_of_its_own_pool", 0),
        ("cannot_be_cancelled", 1),
    ],
)
def test_what_cannot_be_ended_keeps_no_worker_from_ending(
    broker: Cluster, shop: Project, waiting: WaitingTasks, said: Path, task: str, attempts: int
) -> None:
    """What a thread does can only be left. A task that does not let itself be cancelled has spent its attempt."""
    ids, queue = waiting.enqueue(shop, 1, task), f"{shop.prefix}default"
    with shop.running("willow_worker", "--drain-timeout", "0.1", said=said) as worker:
        assert wait_until(lambda: waiting.begun == 1 and takes_more(broker, queue), 2 * PATIENCE)
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
    assert "1 tasks do not end" in said.read_text()
    assert wait_until(lambda: broker.query(READY, queue) == [(attempts,)], PATIENCE)
    waiting.end()
    with shop.running("willow_worker"):
        assert wait_until(lambda: not broker.query(NOT_SUCCESSFUL, ids), 2 * PATIENCE)


def test_a_worker_can_leave_also_if_nothing_can_be_printed(shop: Project) -> None:
    printed = shop.python(
        """
import sys
from willow_django.leaving import leave
print("true", flush=True)
sys.stdout.close()
leave(0)
"""
    )
    assert printed


def test_a_task_that_suppresses_its_cancellation_fails_at_its_limit(
    shop: Project, waiting: WaitingTasks, said: Path
) -> None:
    """And the worker ends without it."""
    [id] = waiting.enqueue(shop, 1, "cannot_be_cancelled")
    with shop.running("willow_worker", "--time-limit", "0.5", said=said) as worker:
        told = shop.python(RUN + f"print(json.dumps(told(found({id!r}))))")
        assert [path for path, _ in told["errors"]] == ["willow_django.limits.TimeLimitExceeded"]
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
    assert "1 tasks do not end" in said.read_text()


@pytest.mark.parametrize("task", ["leaves_a_pool", "leaves_a_task_that_cannot_be_cancelled"])
def test_what_tasks_leave_behind_keeps_no_worker_from_ending(
    broker: Cluster, shop: Project, waiting: WaitingTasks, said: Path, task: str
) -> None:
    ids = waiting.enqueue(shop, 1, task)
    with shop.running("willow_worker", said=said) as worker:
        assert wait_until(lambda: waiting.begun == 1 and not broker.query(NOT_SUCCESSFUL, ids), 2 * PATIENCE)
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
    assert "left behind" in said.read_text()


def test_a_reloader_stays_whatever_tasks_do(broker: Cluster, shop: Project, waiting: WaitingTasks, said: Path) -> None:
    """Also if its worker was told to end."""
    key = make_key(broker, {"*": {"fetch", "create"}})
    waiting.enqueue(shop, 1, "waits_in_a_thread_of_asyncio")
    shop.environ["SHOP_WILLOW"] = json.dumps(json.loads(shop.environ["SHOP_WILLOW"]) | {"TOKEN": key.secret})
    with shop.running("willow_worker", "--reload", "--drain-timeout", "0.1", said=said):
        assert wait_until(lambda: waiting.begun == 1, 2 * PATIENCE)
        key.expire()
        assert wait_until(lambda: "do not end" in said.read_text(), PATIENCE)
        waiting.end()
        assert wait_until(lambda: "Change some code" in said.read_text(), PATIENCE)


def test_a_thread_that_has_been_used_keeps_no_worker_from_ending_well(
    shop: Project, waiting: WaitingTasks, said: Path
) -> None:
    waiting.end()
    with shop.running("willow_worker", said=said):
        for task in ("waits_in_a_thread", "waits_in_a_thread_of_asyncio"):
            [id] = waiting.enqueue(shop, 1, task)
            assert shop.python(RUN + f"print(json.dumps(told(found({id!r}))['status']))") == "SUCCESSFUL"
    assert "do not end" not in said.read_text()
