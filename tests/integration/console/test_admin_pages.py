"""The admin's login, and its pages to look at."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client as Browser

from clients.models import Client, Node, Position, Session, Subscription
from clients.services import key_create
from delivery.admin import JOURNAL_PAGE
from delivery.models import DedupeValue, DutyRun, EndedCount, Journal, Message, RoleGrant, TransactionalPost
from delivery.moves.models import KeptReply, RateBucket, Regrouping, TouchedGroup
from delivery.moves.states import State
from queues.models import Queue, QueueCounter
from queues.services import queue_create
from tests.support.admin_login import logged_in_browser

pytestmark = pytest.mark.django_db

NOT_IN_THE_ADMIN = {
    Message,
    Journal,
    Position,
    DedupeValue,
    EndedCount,
    KeptReply,
    QueueCounter,
    RateBucket,
    Regrouping,
    RoleGrant,
    TouchedGroup,
    TransactionalPost,
}  # their pages are under queues and clients, or nowhere

SHOWN_BY_THE_CONSOLE = ("delivery.facts.", "delivery.operating.", "delivery.schedules.")


@pytest.fixture
def browser() -> Browser:
    return logged_in_browser()


@pytest.fixture
def orders() -> Queue:
    return queue_create(name="orders")


@pytest.fixture
def billing(orders: Queue) -> Client:
    """A client with a bit of everything."""
    client = Client.objects.create(name="billing", persistent=True)
    key = key_create(client_name="billing", grants={"orders": frozenset({"fetch"})}).record
    node = Node.objects.create(name="north", url="ws://north/connect/")
    Session.objects.create(token="unguessable", node=node, client=client, key=key)
    Subscription.objects.create(client=client, label=1, name="orders", match="all", in_flight=16, sync="write")
    Position.objects.create(client=client, queue_id=orders.pk, acked_index=41)
    return client


def put_journal(queue: Queue, count: int) -> None:
    """Two rows for each message: a retry and a finish."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO delivery_journal (queue_id, queue_name, queue_tags, index, outcome, attempt, priority,"
            " posted_at, size) SELECT %s, 'orders', '{}', n, o, 1, 0, now(), 1"
            " FROM generate_series(1, %s) n CROSS JOIN unnest(ARRAY['retried', 'finished']) o",
            [queue.pk, count],
        )


def pages(browser: Browser, address: str) -> Iterator[list[tuple[Any, ...]]]:
    after: str | None = ""
    while after is not None:
        page = browser.get(address, {"after": after}).context
        yield page["rows"]
        after = page["next"]


def test_staff_log_in_and_others_do_not(orders: Queue) -> None:
    users = get_user_model().objects
    users.create_superuser("operator", password="correct horse")
    users.create_user("visitor", password="correct horse")
    for name, status in (("visitor", 200), ("operator", 302)):
        browser = Browser()
        answer = browser.post("/admin/login/?next=/admin/", {"username": name, "password": "correct horse"})
        assert answer.status_code == status
        assert browser.get("/console/").status_code == (200 if name == "operator" else 302)


def test_every_model_has_pages(browser: Browser, billing: Client) -> None:
    DutyRun.objects.create(duty="expired claims", ran_at=billing.defined_at, seconds=0.1, handled=1)
    ours = {
        model
        for app in ("queues", "clients", "delivery")
        for model in apps.get_app_config(app).get_models()
        if not model.__module__.startswith(SHOWN_BY_THE_CONSOLE)
    }
    registered = {model for model in ours if admin.site.is_registered(model)}
    assert ours - registered == NOT_IN_THE_ADMIN | {Subscription, apps.get_model("clients", "Grant")}
    for model in registered:
        address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        assert browser.get(address).status_code == 200, address
        for found in model.objects.all()[:1]:
            assert browser.get(f"{address}{found.pk}/change/").status_code == 200, address


def test_the_brokers_own_rows_can_only_be_looked_at(browser: Browser, billing: Client) -> None:
    session = Session.objects.get()
    for address in ("/admin/clients/session/add/", f"/admin/clients/session/{session.pk}/delete/"):
        assert browser.post(address, {"post": "yes"}).status_code == 403
    assert browser.post(f"/admin/clients/session/{session.pk}/change/", {"address": "x"}).status_code == 403
    for address in ("/admin/clients/session/", f"/admin/clients/session/{session.pk}/change/"):
        assert "unguessable" not in browser.get(address).content.decode()


def test_a_client_shows_what_it_reads_and_where_it_is(browser: Browser, billing: Client, orders: Queue) -> None:
    session = Session.objects.get()
    Message.objects.create(
        queue_id=orders.pk, sequence=1, index=42, priority=0, state=State.CLAIMED, body=b"",
        holder=session.pk, lease_until=billing.defined_at,
    )  # fmt: skip
    page = browser.get(f"/admin/clients/client/{billing.pk}/change/").content.decode()
    assert "north, since" in page
    assert "<td>orders</td>" in page
    assert "<td>41</td>" in page
    assert "<td>42</td>" in page
    assert billing.keys.get().prefix in page


def test_a_client_is_made_and_deleted(browser: Browser, billing: Client) -> None:
    browser.post("/admin/clients/client/add/", {"name": "audit", "persistent": "on"})
    audit = Client.objects.get(name="audit")
    assert audit.persistent
    browser.post(f"/admin/clients/client/{audit.pk}/delete/", {"post": "yes"})
    assert list(Client.objects.all()) == [billing]


def test_a_connected_client_is_not_deleted(browser: Browser, billing: Client) -> None:
    address = f"/admin/clients/client/{billing.pk}/delete/"
    page = browser.post(address, {"post": "yes"}, follow=True).content.decode()
    assert "The client billing is connected to the node north." in page
    Session.objects.update(node=None, client=None)
    browser.post(address, {"post": "yes"})
    assert not Client.objects.exists()
    assert not Session.objects.exists(), "an identity without its key would be anybody's"


def test_the_journal_comes_in_pages_newest_first(browser: Browser, orders: Queue) -> None:
    put_journal(orders, JOURNAL_PAGE)
    put_journal(queue_create(name="other"), 1)
    shown = [row for rows in pages(browser, f"/admin/queues/queue/{orders.pk}/journal/") for row in rows]
    numbers = [(row[0], row[1]) for row in shown]
    assert len(set(numbers)) == 2 * JOURNAL_PAGE
    assert numbers == sorted(numbers, reverse=True)


def test_pages_of_messages_are_for_staff(orders: Queue) -> None:
    for page in ("messages", "journal"):
        assert Browser().get(f"/admin/queues/queue/{orders.pk}/{page}/").status_code == 302
