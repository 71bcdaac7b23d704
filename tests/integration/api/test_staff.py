"""Staff who use the REST API: their permissions hold there as in the console. Also input that was made to do harm."""

from typing import Any

import pytest
from django.test import Client as Browser

from api.urls import urlpatterns
from api.views import ApiView
from delivery.models import AuditEntry, Journal, Message
from delivery.moves.states import State
from queues.models import Queue
from queues.services import queue_create
from tests.support.admin_login import logged_in_browser
from tests.support.console_staff import staff_browser

pytestmark = pytest.mark.django_db

SECRET = "the secret"


def dead_letter(queue_name: str = "orders.dead") -> Message:
    queue = queue_create(name=queue_name)
    return Message.objects.create(
        queue_id=queue.pk, sequence=1, index=1, priority=0, state=State.READY, body=SECRET.encode()
    )


def send(browser: Browser, path: str, body: Any) -> Any:
    return browser.post(f"/api/{path}", body, content_type="application/json")


def test_every_address_that_changes_something_names_its_permission() -> None:
    views = {pattern.callback.cls for pattern in urlpatterns if issubclass(pattern.callback.cls, ApiView)}
    changing = {(view, method) for view in views for method in ("POST", "PATCH", "DELETE", "PUT")
                if hasattr(view, method.lower())}  # fmt: skip
    assert len(changing) > 15
    assert not [(view.__name__, method) for view, method in changing if method not in view.staff_needs]


@pytest.mark.parametrize("path", ["queues", "messages?queue=orders.dead", "dead-letters", "audit", "nodes", "sessions"])
def test_staff_without_permissions_see_nothing(path: str) -> None:
    dead_letter()
    answer = staff_browser().get(f"/api/{path}")
    assert (answer.status_code, answer.json()["code"]) == (403, "PermissionDenied")
    assert answer.json()["detail"].startswith("Your account does not have the permission")


def test_staff_who_may_only_look_do_nothing() -> None:
    message = dead_letter()
    browser, one = staff_browser("look"), f"{message.queue_id}/1/1"
    for path, body in {
        "messages/drop": {"ids": [one]}, "dead-letters/purge": {"ids": [one]}, "queues": {"name": "new"},
        f"queues/{message.queue_id}/purge": {}, f"queues/{message.queue_id}/pause": {},
        "messages/pop": {"queue": "orders.dead"}, "sessions/1/disconnect": {},
    }.items():  # fmt: skip
        assert send(browser, path, body).status_code == 403, path
    assert browser.delete(f"/api/queues/{message.queue_id}?force=true").status_code == 403
    assert browser.get("/api/audit").status_code == 403
    assert (Message.objects.count(), Queue.objects.count(), AuditEntry.objects.count()) == (1, 1, 0)


def test_bodies_are_masked_without_the_permission() -> None:
    queue_id = dead_letter().queue_id
    browser = staff_browser("look", "redrive_dead_letters")
    for path in (f"messages?shard={queue_id}", "dead-letters"):
        page = browser.get(f"/api/{path}").json()["results"]
        assert [row["body"] for row in page] == [None], path
    assert browser.get(f"/api/messages/{queue_id}/1").json()["body"] is None
    assert browser.get("/api/dead-letters/export").status_code == 403
    for refused in (
        browser.get(f"/api/messages?shard={queue_id}&text=sec"),
        browser.get("/api/dead-letters?text=sec"),
        send(browser, "dead-letters/purge", {"filter": {"text": "sec"}}),
    ):
        assert (refused.status_code, refused.json()["key"]) == (403, "text")


def test_bodies_in_the_journal_are_masked_without_the_permission() -> None:
    queue = queue_create(name="orders")
    Journal.objects.all().delete()  # others may have committed some
    Journal.objects.create(
        queue_id=queue.pk, queue_name="orders", queue_tags=[], index=1, outcome="finished", attempt=1, priority=0,
        posted_at=queue.defined_at, ended_at=queue.defined_at, size=len(SECRET), body=SECRET.encode(),
    )  # fmt: skip
    operator = logged_in_browser()
    for path in ("journal", "journal?queue=orders", f"journal?shard={queue.pk}"):
        assert [row["body"] for row in operator.get(f"/api/{path}").json()["results"]] == [SECRET]
    browser = staff_browser("look")
    for path in ("journal", "journal?queue=orders", f"journal?shard={queue.pk}"):
        assert [row["body"] for row in browser.get(f"/api/{path}").json()["results"]] == [None], path


def test_with_the_permission_bodies_are_there() -> None:
    queue_id = dead_letter().queue_id
    browser = staff_browser("look", "see_bodies")
    assert browser.get(f"/api/messages/{queue_id}/1").json()["body"] == SECRET


def test_only_dead_letters_are_purged_as_dead_letters() -> None:
    message = dead_letter("orders")
    one = f"{message.queue_id}/1/1"
    answer = send(logged_in_browser(), "dead-letters/purge", {"ids": [one]})
    assert (answer.status_code, answer.json()["detail"]) == (400, "The queue orders holds no dead letters.")
    redriver = staff_browser("look", "redrive_dead_letters")
    redriver.post("/console/dead-letters/purge/", {"message": one, "word": "purge"})
    assert Message.objects.count() == 1


def test_a_cursor_of_another_list_is_refused() -> None:
    browser = logged_in_browser()
    for name in ("a", "b"):
        queue_create(name=name)
    cursor = browser.get("/api/queues?limit=1").json()["next"]
    assert browser.get("/api/queues", {"cursor": cursor}).status_code == 200
    for path in ("messages?queue=a", "audit", "clients", "sessions", "journal", "facts/queues", "dead-letters"):
        answer = browser.get(f"/api/{path}{'&' if '?' in path else '?'}cursor={cursor}")
        assert (answer.status_code, answer.json()["key"]) == (400, "cursor"), path


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('{"queue": "orders", "message": "\\ud800"}', "half a surrogate pair"),
        ('{"queue": "orders", "message": "m", "match": "\\uDFFF"}', "half a surrogate pair"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_json_that_breaks_readers_is_refused(body: str, says: str) -> None:
    answer = send(logged_in_browser(), "messages", body)
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert says in answer.json()["detail"]


def test_the_admin_s_own_actions_are_audited() -> None:
    queue, browser = queue_create(name="orders"), logged_in_browser()
    for action in ("pause_queues", "resume_queues"):
        browser.post("/admin/queues/queue/", {"action": action, "_selected_action": [queue.pk]})
    browser.post(f"/admin/queues/queue/{queue.pk}/delete/", {"post": "yes"})
    did = list(AuditEntry.objects.order_by("id").values_list("actor", "action", "target"))
    assert did == [("operator", f"{what} queue", "orders") for what in ("pause", "resume", "delete")]
