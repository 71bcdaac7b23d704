"""The screens about dead letters, as a browser without JavaScript sees them."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser
from django.utils import timezone

from delivery.models import AuditEntry, Message, RedriveJob
from delivery.moves.states import State
from queues.models import Queue, QueueCounter
from queues.services import queue_create
from tests.support.admin_login import logged_in_browser
from tests.support.console_staff import staff_browser

pytestmark = pytest.mark.django_db

DEAD_LETTERS = "/console/dead-letters/"
REDRIVES = "/console/redrives/"


@pytest.fixture
def browser() -> Browser:
    return logged_in_browser()


@pytest.fixture
def dead() -> Queue:
    """Three dead letters of orders: two of one error, one without."""
    orders, dead = queue_create(name="orders"), queue_create(name="orders.dead")
    for index, error in enumerate(("timeout after 5 s", "timeout after 7 s", None), start=1):
        bury(dead, index, orders, last_error=error)
    QueueCounter.objects.filter(pk=dead.pk).update(newest_index=3)
    return dead


def bury(dead: Queue, index: int, origin: Queue, **fields: Any) -> None:
    numbers = {"queue_id": dead.pk, "sequence": index, "index": index, "origin_queue_id": origin.pk}
    values = {"priority": 0, "state": State.READY, "body": b"secret %d" % index, "dead_reason": "failed",
              "died_at": timezone.now(), "origin_index": index, "origin_attempts": 3}  # fmt: skip
    Message.objects.create(**numbers | values | fields)


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    return answer.content.decode()


def told(answer: Any) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def test_groups_lead_to_their_dead_letters(browser: Browser, dead: Queue) -> None:
    groups = browser.get(DEAD_LETTERS).context["groups"]
    found = {}
    for group, address in groups:
        listed = browser.get(f"{DEAD_LETTERS}list/?{address}")
        found[group.signature] = [row.index for row in listed.context["found"].rows]
    assert found == {"timeout after # s": [2, 1], "": [3]}


def test_groups_of_one_queue(browser: Browser, dead: Queue) -> None:
    for wanted, count in {"orders": 2, "orders.dead": 2, "invoices": 0}.items():
        assert len(browser.get(DEAD_LETTERS, {"queue": wanted}).context["groups"]) == count


def test_bodies_are_hidden_without_the_permission(dead: Queue) -> None:
    page = text_of(staff_browser("look").get(f"{DEAD_LETTERS}list/"))
    assert "secret" not in page
    assert "hidden" in page


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"queue_id": "x"}, "There is no dead letter queue with the number 'x'."),
        ({"queue_id": "999999"}, "There is no dead letter queue with the number '999999'."),
        ({"reason": "boredom"}, "The reason must be one of failed, timeout,"),
        ({"message": "1"}, "A message is named by shard/sequence"),
    ],
)
@pytest.mark.parametrize("address", [f"{DEAD_LETTERS}list/", f"{DEAD_LETTERS}purge/", f"{REDRIVES}new/"])
def test_a_choice_that_is_wrong_is_told(browser: Browser, address: str, given: dict[str, str], error: str) -> None:
    [sentence] = told(browser.get(address, given, follow=True))
    assert sentence.startswith(error)


def test_the_dry_run_moves_nothing(browser: Browser, dead: Queue) -> None:
    page = browser.get(f"{REDRIVES}new/", {"queue_id": dead.pk, "signature": "timeout after # s"})
    assert (page.context["dry_run"].messages, page.context["dry_run"].by_target) == (2, {"orders": 2})
    assert not RedriveJob.objects.exists()


def test_a_redrive_is_started_with_its_rate_target_and_time_to_undo(browser: Browser, dead: Queue) -> None:
    target = queue_create(name="by-hand")
    given = {"message": [f"{dead.pk}/1/1", f"{dead.pk}/3/3"], "queue": "by-hand", "rate": "2.5", "undo": "30m"}
    answer = browser.post(f"{REDRIVES}new/", {**given, "start": "yes"})
    job = RedriveJob.objects.get()
    assert answer["Location"] == f"{REDRIVES}{job.pk}/"
    assert (job.created_by, job.rate, job.target_queue_id, job.total) == ("operator", 2.5, target.pk, 2)
    assert timedelta(minutes=29) < job.undo_until - timezone.now() <= timedelta(minutes=30)
    assert "at most 2.5 a second" in text_of(browser.get(answer["Location"]))


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("rate", "0", "greater than or equal to 0.001"),
        ("undo", "a while", "A time span must be written as"),
        ("undo", "8d", "from 0 to 604800"),
        ("queue", "nowhere", "There is no queue nowhere without tags."),
    ],
)
def test_what_is_wrong_with_a_redrive_is_said(
    browser: Browser, dead: Queue, field: str, value: str, error: str
) -> None:
    given = {"queue_id": dead.pk, "undo": "1h", "start": "yes", field: value}
    assert error in text_of(browser.post(f"{REDRIVES}new/", given))
    assert not RedriveJob.objects.exists()


def test_purging_needs_the_word_and_leaves_the_others(browser: Browser, dead: Queue) -> None:
    given = {"queue_id": dead.pk, "signature": ""}
    assert "Purge" in text_of(browser.get(f"{DEAD_LETTERS}purge/", given))
    assert "This must be the word purge." in text_of(browser.post(f"{DEAD_LETTERS}purge/", {**given, "word": "yes"}))
    assert Message.objects.count() == 3
    answer = browser.post(f"{DEAD_LETTERS}purge/", {**given, "word": "purge"}, follow=True)
    assert told(answer)[0].endswith(": 1 done.")
    assert set(Message.objects.values_list("index", flat=True)) == {1, 2}
    assert AuditEntry.objects.get().action == "drop messages"


def test_the_export_has_a_line_for_each(browser: Browser, dead: Queue) -> None:
    answer = browser.get(f"{DEAD_LETTERS}export/", {"queue_id": dead.pk, "reason": "failed"})
    with pytest.warns(Warning, match="asynchronous iterators"):  # which a broker is, and the test's browser is not
        lines = [json.loads(line) for line in b"".join(answer).splitlines()]
    assert [(line["body"], line["error"]) for line in lines] == [
        ("secret 1", "timeout after 5 s"),
        ("secret 2", "timeout after 7 s"),
        ("secret 3", None),
    ]
    assert AuditEntry.objects.get().action == "export dead letters"


@pytest.mark.parametrize("permissions", [("look",), ("look", "redrive_dead_letters"), ("look", "see_bodies")])
def test_who_may_not_export(dead: Queue, permissions: tuple[str, ...]) -> None:
    assert staff_browser(*permissions).get(f"{DEAD_LETTERS}export/").status_code == 403


@pytest.mark.parametrize("address", [f"{DEAD_LETTERS}purge/", f"{REDRIVES}new/"])
def test_who_may_not_purge_or_redrive(dead: Queue, address: str) -> None:
    visitor = staff_browser("look", "see_bodies", "change_messages")
    assert (
        visitor.post(address, {"queue_id": dead.pk, "word": "purge", "undo": "1h", "start": "yes"}).status_code == 403
    )
    assert (Message.objects.count(), RedriveJob.objects.count()) == (3, 0)
