"""Posts and tasks of a Django project in its tests, also within transactions that are never committed.

    class OrderTests(TestCase):
        def test_an_order_is_announced(self):
            place_order()
            assert_posted("orders", matching={"order": 17})
            run_tasks()

`TestCase` runs each test in a transaction, so posts go to the outbox: set `WILLOW["OUTBOX"]` to `"own"` in the settings
of your tests, and nothing else is needed, no broker either.
"""

import json
from typing import Any

from willow_client import GiveUp, Retry
from willow_testing import FakeWillow, PostedMessage

from willow_django.conf import willow_settings
from willow_django.models import OutboxMessage
from willow_django.running import run_in_this_transaction
from willow_django.task_queues import backend_of


def posted(queue: str | None = None) -> list[PostedMessage]:
    """What was posted in this transaction, and not rolled back."""
    rows = OutboxMessage.objects.using(willow_settings().database).order_by("id")
    return [_posted(row) for row in rows if queue in (None, row.queue)]


def _posted(row: OutboxMessage) -> PostedMessage:
    how = dict(row.arguments)
    return PostedMessage(
        row.queue,
        bytes(row.body),
        row.pk,
        tuple(how.pop("tags", ())),
        how.pop("priority", 0),
        how.pop("delay", None),
        how,
    )


def assert_posted(queue: str, matching: Any = None, *, times: int | None = None) -> list[PostedMessage]:
    """`matching`: a body, a part of a JSON object, or a function that says whether a post is meant."""
    fake = FakeWillow()
    fake.posted = posted()
    return fake.assert_posted(queue, matching, times=times)


def run_tasks(*, delayed: bool = False) -> int:
    """Run the tasks that were enqueued, and those that they enqueue, attempts and all. Returns how many ran.

    As at a broker, one whose `unique` text belongs to another that waits or runs is dropped.
    """
    ran = 0
    while (row := _next_task(delayed)) is not None:
        ran += 1
        _run(json.loads(bytes(row.body)), row.arguments.get("headers", {}))
        _waiting_tasks()  # while it counts as running
        row.delete()
    return ran


def _next_task(delayed: bool) -> OutboxMessage | None:
    waiting = [row for row in _waiting_tasks() if delayed or not row.arguments.get("delay")]
    return min(waiting, key=lambda row: (-row.arguments.get("priority", 0), row.pk), default=None)


def _waiting_tasks() -> list[OutboxMessage]:
    """Without those that a broker would not have stored, which are deleted."""
    waiting: list[OutboxMessage] = []
    taken: set[tuple[str, str]] = set()  # unique texts, by queue
    for row in OutboxMessage.objects.using(willow_settings().database).order_by("id"):
        if backend_of(row.queue) is None:
            continue
        text = row.arguments.get("unique")
        if (row.queue, text) in taken:
            row.delete()
            continue
        waiting.append(row)
        if text is not None:
            taken.add((row.queue, text))
    return waiting


def _run(job: dict[str, Any], headers: dict[str, str]) -> None:
    while True:
        try:
            run_in_this_transaction(job, headers)
        except GiveUp:
            return
        except Retry:
            continue
        return
