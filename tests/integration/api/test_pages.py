"""The REST API for people: a staff member's login is as good as a key, in pages and in scripts of the browser."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client as Browser

from delivery.models import AuditEntry
from queues.models import Queue
from queues.services import queue_create
from tests.support.admin_login import logged_in_browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def orders() -> Queue:
    return queue_create(name="orders")


def test_staff_see_a_page_and_scripts_json(orders: Queue) -> None:
    browser = logged_in_browser()
    page = browser.get("/api/queues/", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert page.headers["Content-Type"].startswith("text/html") and "orders" in page.content.decode()
    assert browser.get("/api/queues/").json()["results"][0]["name"] == "orders"


def test_staff_are_named_in_the_audit(orders: Queue) -> None:
    browser = logged_in_browser()
    assert browser.post(f"/api/queues/{orders.pk}/pause").status_code == 200
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.actor_kind, entry.user, entry.action, entry.target) == (
        "operator",
        "staff",
        get_user_model().objects.get(),
        "pause queue",
        "orders",
    )


def test_another_site_cannot_act_in_the_name_of_a_login(orders: Queue) -> None:
    browser = Browser(enforce_csrf_checks=True)
    browser.force_login(get_user_model().objects.create_superuser("operator"))
    answer = browser.post(f"/api/queues/{orders.pk}/pause")
    assert (answer.status_code, answer.headers["Content-Type"]) == (403, "application/problem+json")
    assert not Queue.objects.get().paused


def test_who_is_not_staff_is_let_in_by_the_rule_only(orders: Queue) -> None:
    browser = Browser()
    browser.force_login(get_user_model().objects.create_user("somebody"))
    assert browser.post(f"/api/queues/{orders.pk}/pause").status_code == 403
    assert browser.get("/api/queues/", REMOTE_ADDR="203.0.113.9").status_code == 401


def test_a_process_that_is_no_node_takes_no_posts(orders: Queue) -> None:
    answer = logged_in_browser().post(
        "/api/messages", {"queue": "orders", "message": "m"}, content_type="application/json"
    )
    assert (answer.status_code, answer.json()["code"], answer.json()["key"]) == (503, "Unavailable", "node")


@pytest.mark.parametrize("path", ["/status/a%00b", "/api/clients/a%00b/", "/api/services/a%00b"])
def test_names_that_nothing_can_have_are_not_found(path: str) -> None:
    assert logged_in_browser().get(path).status_code == 404
