"""`manage.py willow_prune`: deletes the records of tasks that ended long ago."""

import re
from argparse import ArgumentTypeError
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db.models import Q
from django.utils import timezone

from willow_django.conf import willow_settings
from willow_django.models import TaskRecord
from willow_django.tasks_api import TaskResultStatus

AT_ONCE = 500
UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,5})([dhm])", text)
    if found is None:
        raise ArgumentTypeError(f"must be written as 7d, 12h or 30m, not {text!r}")
    return timedelta(**{UNITS[found[2]]: int(found[1])})


class Command(BaseCommand):
    help = "Deletes the records of tasks that ended long ago, and with them their results."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--older-than", type=_age, required=True, help="since they ended, for example 7d, 12h or 30m"
        )
        parser.add_argument(
            "--never-run",
            action="store_true",
            help="also of tasks that were due for as long and have not begun; one that waits still is not run then",
        )
        parser.add_argument(
            "--never-ended",
            action="store_true",
            help="also of tasks that have not ended since their last attempt began so long ago, "
            "also if they wait for another one; they are not tried again then",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        before = timezone.now() - options["older_than"]
        old = Q(finished_at__lt=before)
        if options["never_run"]:
            old |= _due_and_not_begun(before)
        if options["never_ended"]:
            old |= Q(finished_at=None, last_attempted_at__lt=before)
        self.stdout.write(f"Deleted {_delete(old)} records of tasks")


def _due_and_not_begun(before: datetime) -> Q:
    due = Q(run_after=None) | Q(run_after__lt=before)
    return due & Q(status=TaskResultStatus.READY, started_at=None, enqueued_at__lt=before)


def _delete(old: Q) -> int:
    """In batches, so that nothing else waits for long."""
    records = TaskRecord.objects.using(willow_settings().database).filter(old)
    deleted = 0
    while some := list(records.values_list("pk", flat=True)[:AT_ONCE]):
        deleted += records.filter(pk__in=some).delete()[0]
    return deleted
