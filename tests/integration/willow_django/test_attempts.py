"""How often tasks are tried, and what becomes of what they return: also where the broker or the database would not."""

import asyncio
import json

import pytest
from willow_client import Client

from tests.integration.willow_django.conftest import Project
from tests.integration.willow_django.test_tasks import RUN
from tests.integration.willow_django.waiting_tasks import WaitingTasks
from tests.support.cluster import PATIENCE, Cluster, wait_until

STATUS = "SELECT status FROM willow_django_taskrecord WHERE id = %s"


@pytest.mark.parametrize("where", ["shop", "shop_elsewhere"])
def test_tasks_that_came_before_the_first_worker_have_all_their_attempts(
    request: pytest.FixtureRequest, where: str
) -> None:
    """The post makes the queue then, not the worker, and by the broker's defaults it would allow three."""
    project: Project = request.getfixturevalue(where)
    ids = project.python(
        RUN
        + """
with transaction.atomic():
    results = [jobs.sixth_time_lucky.enqueue()]
print(json.dumps([result.id for result in results]))
"""
    )
    if where == "shop_elsewhere":
        project.manage("willow_relay", "--once")
    with project.running("willow_worker", "--concurrency", "1"):
        [told] = project.python(
            RUN + f"print(json.dumps([told(jobs.sixth_time_lucky.get_result(id)) for id in {ids!r}]))"
        )
    assert (told["status"], told["attempts"]) == ("SUCCESSFUL", 6)


def test_a_task_that_is_refused_leaves_no_record(shop: Project) -> None:
    """Also if the transaction goes on."""
    left = shop.python(
        RUN
        + """
from willow_django.models import TaskRecord
from willow_django.tasks import WillowTask
refused = WillowTask(func=jobs.add.func, backend="default", group="g" * 201)
with transaction.atomic():
    TaskRecord.objects.all().delete()
    try:
        refused.enqueue(1, 1)
    except Exception as error:
        print(json.dumps(["group must be" in str(error), TaskRecord.objects.count()]))
    transaction.set_rollback(True)
"""
    )
    assert left == [True, 0]


async def test_a_task_has_failed_when_its_queue_allows_no_more_attempts(shop: Project, client: Client) -> None:
    await client.create(f"{shop.prefix}default", retry_limit=2)
    with shop.running("willow_worker", "--concurrency", "1"):
        told = shop.python(RUN + "print(json.dumps(told(jobs.sixth_time_lucky.enqueue())))")
    assert (told["status"], told["attempts"]) == ("FAILED", 2)


def test_a_task_has_failed_if_the_database_does_not_take_what_it_returned(shop: Project) -> None:
    with shop.running("willow_worker", "--concurrency", "4"):
        told = shop.python(
            RUN
            + r"""
other, large = jobs.add.enqueue(1, 1), jobs.returns_a_large_number.enqueue()
assert told(other)["status"] == "SUCCESSFUL" and told(large)["errors"][0][0] == "builtins.ValueError"
returned = [jobs.returns.enqueue(text) for text in (r"a\0b", r"\ud800")]
raised = [jobs.raises.enqueue(text) for text in (r"a\0b", r"\ud800")]
print(json.dumps([told(result) for result in (*returned, *raised)]))
"""
        )
    assert [(result["status"], result["attempts"]) for result in told] == [("FAILED", 1)] * 4
    assert [result["errors"][0][0] for result in told[:2]] == ["django.db.utils.DataError"] * 2
    assert [result["errors"][0][1] for result in told[2:]] == [r"ValueError: a\x00b", r"ValueError: \ud800"]


def test_a_task_that_failed_begins_anew_when_it_is_put_back(shop: Project) -> None:
    ended_before, has_ended, finished_at = shop.python(
        RUN
        + """
from django.utils import timezone
from willow_django.records import find_records
from willow_django.running import begin
[record] = find_records([jobs.sixth_time_lucky.enqueue().id])
record.status, record.finished_at = "FAILED", timezone.now()
before = record.finished_at is not None
attempt = begin(record, {}, 1)
attempt.fail(ValueError())
print(json.dumps([before, attempt.has_ended, record.finished_at]))
"""
    )
    assert (ended_before, has_ended, finished_at) == (True, False, None)


def test_a_task_that_failed_is_not_run_again_if_only_the_broker_did_not_hear_of_it(shop: Project) -> None:
    reason = shop.python(
        RUN
        + """
from willow_client import GiveUp
from willow_django.records import find_records
from willow_django.running import begin
[record] = find_records([jobs.add.enqueue(1, 1).id])
begin(record, {}, 1).fail(ValueError())
try:
    begin(record, {}, 2)
except GiveUp as error:
    print(json.dumps(str(error)))
"""
    )
    assert "failed before" in reason and reason.endswith(": ValueError")


async def test_a_task_that_is_put_back_is_run_though_its_first_worker_dies(
    broker: Cluster, shop: Project, waiting: WaitingTasks, client: Client
) -> None:
    """While it waits there for its turn: its record says no longer that it has failed."""
    queue = f"{shop.prefix}default"
    with shop.running("willow_worker"):
        [id] = shop.python(RUN + "print(json.dumps([ended(jobs.broken.enqueue()).id]))")
    waiting.enqueue(shop, 1)
    worker = shop.begin("willow_worker", "--concurrency", "1", "--prefetch", "1")
    assert wait_until(lambda: waiting.begun == 1, 2 * PATIENCE)
    dead = await client.fetch(f"{queue}.dead", block_timeout=PATIENCE)
    assert dead is not None
    await client.post(queue, dead.text)
    await dead.finish()
    assert wait_until(lambda: broker.query(STATUS, id) == [("READY",)], PATIENCE)
    worker.kill()
    worker.communicate()
    waiting.end()
    with shop.running("willow_worker"):
        told = shop.python(RUN + f"print(json.dumps(told(found({id!r}))))")
    assert len(told["errors"]) == 2


@pytest.mark.parametrize("run_in", ["thread", "process"])
def test_a_task_that_is_cancelled_has_failed(shop: Project, run_in: str) -> None:
    with shop.running("willow_worker", "--concurrency", "1", "--run-in", run_in):
        told = shop.python(
            RUN
            + """
results = [task.enqueue() for task in (jobs.is_cancelled, jobs.is_cancelled_later, jobs.cancels_itself)]
print(json.dumps([told(result) for result in results]))
"""
        )
    assert [(result["status"], result["attempts"]) for result in told] == [("FAILED", 1)] * 3
    assert [result["errors"][0][0] for result in told] == ["asyncio.exceptions.CancelledError"] * 3


def test_a_task_that_ends_its_workers_fails_after_some_of_them(
    broker: Cluster, shop: Project, waiting: WaitingTasks
) -> None:
    """LOST_ATTEMPTS is 1: that many may be lost that are known to have begun. The first one may have ended unseen."""
    [id] = waiting.enqueue(shop, 1, "ends_its_worker")

    def has_failed() -> bool:
        return bool(broker.query(STATUS, id) == [("FAILED",)])

    while not has_failed():
        before = waiting.begun
        worker = shop.begin("willow_worker")
        assert wait_until(lambda: has_failed() or waiting.begun > before, 2 * PATIENCE)  # noqa: B023 -- called here
        worker.terminate()
        worker.communicate(timeout=2 * PATIENCE)
    assert waiting.begun in (2, 3)
    told = shop.python(RUN + f"print(json.dumps(told(found({id!r}))))")
    assert [path for path, _ in told["errors"]] == ["willow_django.running.LostTooOften"]


@pytest.mark.parametrize("where", ["shop", "shop_elsewhere"])
def test_a_worker_that_was_paused_does_not_undo_what_another_one_did(
    request: pytest.FixtureRequest, where: str
) -> None:
    project: Project = request.getfixturevalue(where)
    statuses = project.python(
        RUN
        + """
from willow_django.records import find_records, save_records
from willow_django.running import begin

def after_two_workers(end, late_end):
    id = jobs.add.enqueue(1, 1).id
    paused, other = [begin(find_records([id])[0], {}, number) for number in (1, 2)]
    for attempt in (paused, other):
        save_records([attempt.record])
    end(other)
    save_records([other.record])
    late_end(paused)
    save_records([paused.record])
    return find_records([id])[0].status

succeed = lambda attempt: attempt.succeed(1)
fail = lambda attempt: attempt.fail(ValueError())
run = lambda attempt: None
ends = ((succeed, run), (succeed, fail), (fail, run), (fail, succeed), (run, fail))
print(json.dumps([after_two_workers(*of_both) for of_both in ends]))
"""
    )
    assert statuses == ["SUCCESSFUL", "SUCCESSFUL", "FAILED", "SUCCESSFUL", "RUNNING"]


def test_attempts_are_in_order_whatever_clocks_say(shop: Project) -> None:
    is_later = shop.python(
        RUN
        + """
from datetime import timedelta
from django.utils import timezone
from willow_django.records import find_records
from willow_django.running import begin
[record] = find_records([jobs.add.enqueue(1, 1).id])
ahead = record.last_attempted_at = timezone.now() + timedelta(hours=1)
print(json.dumps(begin(record, {}, 2).record.last_attempted_at > ahead))
"""
    )
    assert is_later


async def test_a_message_that_no_id_can_be_in_harms_no_other(shop: Project, client: Client) -> None:
    queue = f"{shop.prefix}default"
    await client.create(queue, retry_limit=1000)
    for id in ("\0", "\ud800", "a" * 33):
        await client.post(queue, json.dumps({"task": id, "path": "a.b"}))
    with shop.running("willow_worker", "--concurrency", "4"):
        told = shop.python(RUN + "print(json.dumps(told(jobs.add.enqueue(1, 1))))")
    assert told["value"] == 2
    async with asyncio.timeout(PATIENCE), client.subscribe(f"{queue}.dead") as dead:
        for _ in range(3):
            await (await anext(dead)).finish()


async def test_only_variables_that_the_backend_names_are_taken_from_messages(shop: Project, client: Client) -> None:
    [id] = shop.python("from tests.support.shop import jobs; print(json.dumps([jobs.visits.enqueue('a').id]))")
    queue = f"{shop.prefix}default"
    async with client.subscribe(queue) as messages:
        message = await anext(messages)
        job = json.loads(message.text) | {"context": {"tests.support.shop.jobs.visitor": "b", "antigravity.x": 1}}
        await message.finish()
    await client.post(queue, json.dumps(job))
    with shop.running("willow_worker", "--concurrency", "1"):
        told = shop.python(RUN + f"print(json.dumps(told(found({id!r}))))")
    assert (told["status"], told["value"]) == ("SUCCESSFUL", None)


@pytest.mark.parametrize("run_in", ["thread", "process"])
def test_a_task_sees_nothing_of_the_context_of_others(shop: Project, run_in: str) -> None:
    with shop.running("willow_worker", "--concurrency", "1", "--prefetch", "0", "--run-in", run_in):
        values = shop.python(
            RUN
            + """
tasks = [jobs.visits_later, jobs.visits, jobs.visits_later, jobs.visits]
print(json.dumps([ended(task.enqueue("somebody")).return_value for task in tasks]))
"""
        )
    assert values == [None] * 4


def test_how_a_task_is_tried_is_checked_where_it_is_defined(shop: Project) -> None:
    said = shop.python(
        RUN
        + """
from willow_django.tasks import task
said = []
for how in ({"retries": -1}, {"retries": 1000}, {"retries": "3"}, {"retry_delay": -1}, {"retry_backoff": float("nan")},
        {"retry_delay": 1e9}, {"retry_delay_max": 1e9}):
    try:
        task(jobs.add.func, **how)
    except Exception as error:
        said.append(str(error))
print(json.dumps([said, task(jobs.add.func, retries=999, retry_delay=1, retry_backoff=10).delay_before(999)]))
"""
    )
    names = ["retries", "retries", "retries", "retry_delay", "retry_backoff", "retry_delay", "retry_delay_max"]
    assert [text.split()[0] for text in said[0]] == names
    assert said[1] == 3600


def test_a_project_without_time_zones_and_with_two_backends(shop: Project) -> None:
    delay, backend = shop.python(
        RUN
        + """
from datetime import datetime, timedelta
from django.conf import settings
from django.test import override_settings
from willow_django.models import OutboxMessage
own = {**settings.WILLOW, "OUTBOX": "own"}
tasks = {**settings.TASKS, "other": settings.TASKS["default"]}
with override_settings(USE_TZ=False, WILLOW=own, TASKS=tasks), transaction.atomic():
    later = jobs.add.using(run_after=datetime.now() + timedelta(hours=1), backend="other").enqueue(1, 1)
    delay = OutboxMessage.objects.get().arguments["delay"]
    print(json.dumps([delay, jobs.add.get_result(later.id).task.backend]))
    transaction.set_rollback(True)
"""
    )
    assert 3500 < delay <= 3600
    assert backend == "other"


def test_a_project_that_commits_by_itself(shop: Project) -> None:
    shop.configure_database(AUTOCOMMIT=False)
    with shop.running("willow_worker", "--concurrency", "1"):
        value = shop.python(
            RUN
            + """
result = jobs.add.enqueue(1, 2)
transaction.commit()
print(json.dumps(ended(result).return_value))
"""
        )
    assert value == 3
