"""What every backend of Django's tasks is expected to do, by the example of the tests of django-tasks' own backends."""

from tests.integration.willow_django.conftest import Project
from tests.integration.willow_django.test_tasks import RUN

AS_ENQUEUED = """
from asgiref.sync import async_to_sync
from tests.support.shop import jobs
from willow_django.tasks_api import TaskResultDoesNotExist, task_backends

backend = task_backends["default"]
seen = {"complaints": list(backend.check())}

def raised(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return type(error).__name__

def fresh(task, result):
    return {
        "status": result.status,
        "times": [result.started_at, result.finished_at, result.last_attempted_at],
        "no value yet": raised(lambda: result.return_value),
        "same task": result.task == task,
        "args": [result.args, result.kwargs],
        "found again": backend.get_result(result.id) == result,
        "found again, awaited": async_to_sync(backend.aget_result)(result.id) == result,
        "attempts": result.attempts,
    }

seen["fresh"] = [
    fresh(task, enqueue(task))
    for task in (jobs.add, jobs.add_later)
    for enqueue in (lambda task: task.enqueue((1, 2), b=3), lambda task: async_to_sync(task.aenqueue)((1, 2), b=3))
]
seen["missing"] = [
    raised(backend.get_result, "not there"),
    raised(async_to_sync(backend.aget_result), "not there"),
    raised(jobs.add.get_result, "123"),
]
seen["refused"] = [
    raised(jobs.add.enqueue, object()),
    raised(lambda: jobs.add.using(queue_name="nobody has this")),
    raised(lambda: jobs.add.using(priority=101)),
]
print(json.dumps(seen))
"""


def test_what_was_enqueued_is_told_and_found_again(shop: Project) -> None:
    seen = shop.python(AS_ENQUEUED)
    assert seen["complaints"] == []
    assert (
        seen["fresh"]
        == [
            {
                "status": "READY",
                "times": [None, None, None],
                "no value yet": "ValueError",
                "same task": True,
                "args": [[[1, 2]], {"b": 3}],
                "found again": True,
                "found again, awaited": True,
                "attempts": 0,
            }
        ]
        * 4
    )
    assert seen["missing"] == ["TaskResultDoesNotExist"] * 3
    assert seen["refused"][0] == "TypeError"
    assert all("InvalidTask" in refused for refused in seen["refused"][1:])


ENQUEUE = """
from datetime import timedelta
from django.utils import timezone
from tests.support.shop import jobs
from willow_django.models import TaskRecord

later = jobs.add.using(run_after=timezone.now() + timedelta(days=1)).enqueue(1, 1)
elsewhere = jobs.which_request.enqueue()
low, high = [jobs.add.using(priority=priority).enqueue(1, 1) for priority in (-50, 50)]
left = [jobs.leaves.enqueue(), jobs.leaves_later.enqueue()]
gone, no_task = [jobs.add.enqueue(1, 1) for _ in range(2)]
TaskRecord.objects.filter(pk=gone.id).update(path="tests.support.shop.jobs.nobody_has_this")
TaskRecord.objects.filter(pk=no_task.id).update(path="subprocess.check_output")
last = jobs.add.using(priority=-100).enqueue(1, 1)
print(json.dumps([result.id for result in (later, elsewhere, low, high, *left, gone, no_task, last)]))
"""

LOOK = (
    RUN
    + """
from willow_django.models import TaskRecord

ids = IDS
ended(jobs.add.get_result(ids[-1]))
records = [TaskRecord.objects.get(pk=id) for id in ids]
later, elsewhere, low, high, *others, last = records
print(json.dumps({
    "waiting": [later.status, elsewhere.status],
    "in order": high.enqueued_at <= high.started_at <= high.finished_at and high.started_at < low.started_at,
    "others": [(record.status, record.errors[-1]["exception_class_path"], len(record.worker_ids)) for record in others],
}))
"""
)


def test_what_a_worker_takes_in_which_order_and_what_it_survives(shop: Project) -> None:
    """A worker of one queue; tasks that end the process, that are not there any more, and that are none."""
    ids = shop.python(ENQUEUE)
    with shop.running("willow_worker", "--concurrency", "1"):
        seen = shop.python(LOOK.replace("IDS", repr(ids)))
    assert seen["waiting"] == ["READY", "READY"]
    assert seen["in order"]
    assert seen["others"] == [
        ["FAILED", "builtins.SystemExit", 1],
        ["FAILED", "builtins.SystemExit", 1],
        ["FAILED", "builtins.ImportError", 1],
        ["FAILED", "django.core.exceptions.SuspiciousOperation", 1],
    ]
