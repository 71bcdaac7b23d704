"""Results that nobody asks for any more."""

import pytest

from tests.integration.willow_django.conftest import Project

WRITE = """
from datetime import timedelta
from django.utils import timezone
from willow_django.models import TaskRecord
def record(id, status, days, **fields):
    then = timezone.now() - timedelta(days=days)
    ended = {"started_at": then, "finished_at": then} if status in ("SUCCESSFUL", "FAILED") else {}
    return TaskRecord(
        id=id, path="p", backend="default", queue_name="q", priority=0, arguments={}, status=status, enqueued_at=then,
        **ended, **fields,
    )
TaskRecord.objects.bulk_create([
    *(record(f"old {number}", "SUCCESSFUL", 8) for number in range(1200)),
    record("old failure", "FAILED", 8),
    record("new", "SUCCESSFUL", 6),
    record("running", "RUNNING", 8, started_at=timezone.now()),
    record("never run", "READY", 8),
    record("tried", "READY", 8, started_at=timezone.now()),
    record("never ended", "RUNNING", 8, last_attempted_at=timezone.now() - timedelta(days=8)),
    record("due later", "READY", 8, run_after=timezone.now()),
])
"""
LEFT = """
from willow_django.models import TaskRecord
print(json.dumps(sorted(TaskRecord.objects.values_list("id", flat=True))))
"""


def test_what_ended_long_ago_is_deleted(shop_elsewhere: Project) -> None:
    shop_elsewhere.python(WRITE)
    assert "Deleted 1201 records" in shop_elsewhere.manage("willow_prune", "--older-than", "7d")
    assert shop_elsewhere.python(LEFT) == ["due later", "never ended", "never run", "new", "running", "tried"]
    assert "Deleted 1 records" in shop_elsewhere.manage("willow_prune", "--older-than", "7d", "--never-run")
    assert shop_elsewhere.python(LEFT) == ["due later", "never ended", "new", "running", "tried"]
    assert "Deleted 1 records" in shop_elsewhere.manage("willow_prune", "--older-than", "7d", "--never-ended")
    assert shop_elsewhere.python(LEFT) == ["due later", "new", "running", "tried"]


def test_a_bad_age_is_refused(shop_elsewhere: Project) -> None:
    with pytest.raises(AssertionError, match="must be written as 7d"):
        shop_elsewhere.manage("willow_prune", "--older-than", "a week")
