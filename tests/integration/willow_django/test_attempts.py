"""How often tasks are tried, and what becomes of what they return: also where the broker or the database would not."""

import json

import pytest
from willow_client import Client

from tests.integration.willow_django.conftest import Project
from tests.integration.willow_django.test_tasks import RUN


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


def test_how_a_task_is_tried_is_checked_where_it_is_defined(shop: Project) -> None:
    said = shop.python(
        RUN
        + """
from willow_django.tasks import task
said = []
for how in ({"retries": -1}, {"retries": 1000}, {"retries": "3"}, {"retry_delay": -1}, {"retry_backoff": float("nan")}):
    try:
        task(jobs.add.func, **how)
    except Exception as error:
        said.append(str(error))
print(json.dumps([said, task(jobs.add.func, retries=999, retry_delay=1, retry_backoff=10).delay_before(999)]))
"""
    )
    names = ["retries", "retries", "retries", "retry_delay", "retry_backoff"]
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
    databases = json.loads(shop.environ["SHOP_DATABASES"])
    databases["default"]["AUTOCOMMIT"] = False
    shop.environ["SHOP_DATABASES"] = json.dumps(databases)
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
