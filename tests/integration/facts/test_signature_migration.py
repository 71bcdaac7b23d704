"""Redrives that were under way when error signatures changed."""

from importlib import import_module

import pytest
from django.db import connection
from django.utils import timezone

from delivery.models import RedriveJob

pytestmark = pytest.mark.django_db


def test_only_redrives_under_way_for_an_old_signature_are_cancelled() -> None:
    def job(state: str, signature: str | None) -> RedriveJob:
        criteria = {"signature": signature}
        return RedriveJob.objects.create(state=state, criteria=criteria, total=1, undo_until=timezone.now())

    old, done = job("running", "slow <n>"), job("done", "slow <n>")
    without_error, of_all = job("running", ""), job("running", None)
    with connection.cursor() as cursor:
        cursor.execute(import_module("delivery.migrations.0008_one_signature").CANCEL_REDRIVES)
    old.refresh_from_db()
    assert (old.state, old.ended_at is not None) == ("cancelled", True)
    assert old.problem and old.problem.endswith("begin it again.")
    states = RedriveJob.objects.exclude(pk=old.pk).order_by("pk").values_list("pk", "state")
    assert list(states) == [(done.pk, "done"), (without_error.pk, "running"), (of_all.pk, "running")]
