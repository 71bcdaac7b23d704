"""Queues in the admin: made, changed, paused and deleted through the services, never by writing their rows."""

from dataclasses import asdict
from typing import Any

import pytest
from django.test import Client as Browser
from django.utils import timezone

from clients.models import Client, Position
from delivery.models import DedupeValue, EndedCount, Message
from delivery.moves.states import State
from queues.definitions import default_settings
from queues.models import Queue, QueueCounter, Tag
from queues.services import queue_create
from tests.support.admin_login import logged_in_browser

pytestmark = pytest.mark.django_db

QUEUES = "/admin/queues/queue/"


@pytest.fixture
def browser() -> Browser:
    return logged_in_browser()


@pytest.fixture
def orders() -> Queue:
    return queue_create(name="orders", tags=["eu"])


def as_posted(settings: dict[str, Any]) -> dict[str, Any]:
    """As a browser sends a form: what is empty or not ticked is not there."""
    return {
        name: "on" if value is True else value
        for name, value in settings.items()
        if value is not None and value is not False
    }


def make(browser: Browser, **fields: Any) -> str:
    form = as_posted(asdict(default_settings("orders"))) | {"name": "orders", "tags": ""} | fields
    return browser.post(f"{QUEUES}add/", form, follow=True).content.decode()


def change(browser: Browser, queue: Queue, **fields: Any) -> str:
    form = browser.get(f"{QUEUES}{queue.pk}/change/").context["adminform"].form
    settings = as_posted({name: form[name].value() for name in form.fields}) | fields
    return browser.post(f"{QUEUES}{queue.pk}/change/", settings, follow=True).content.decode()


def act(browser: Browser, action: str, *queues: Queue) -> str:
    form = {"action": action, "_selected_action": [queue.pk for queue in queues]}
    return browser.post(QUEUES, form, follow=True).content.decode()


def put_message(queue: Queue) -> None:
    Message.objects.create(queue_id=queue.pk, sequence=1, index=1, priority=0, state=State.READY, body=b"m")


def test_a_queue_is_made(browser: Browser) -> None:
    make(browser, tags="eu ,de,,eu", retry_limit="", max_length="5", overflow="drop_oldest", updatable="on")
    queue = Queue.objects.get()
    assert (queue.name, queue.tags, queue.kind, queue.retry_limit) == ("orders", ["de", "eu"], "work", None)
    assert (queue.max_length, queue.overflow, queue.updatable) == (5, "drop_oldest", True)
    assert set(Tag.objects.values_list("name", flat=True)) == {"de", "eu"}


def test_the_form_begins_with_the_defaults(browser: Browser) -> None:
    form = browser.get(f"{QUEUES}add/").context["adminform"].form
    assert {name: form[name].value() for name in asdict(default_settings(""))} == asdict(default_settings(""))


def test_a_queue_that_is_there_is_not_made_again(browser: Browser, orders: Queue) -> None:
    assert "already exists" in make(browser, tags="eu")
    assert "Select queue to change" in make(browser, tags="de")
    assert Queue.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"heartbeat_timeout": "0"}, "This must be seconds, above 0 and at most 10 years."),
        ({"heartbeat_timeout": "nan"}, "Enter a number."),
        ({"retry_backoff": "0.5"}, "This must be a factor from 1 to 100."),
        ({"retry_limit": "-1"}, "This must be a whole number from 0 to 2147483647, or empty"),
        ({"max_length": "0"}, "This must be a whole number above 0, or empty: no bound."),
        ({"kind": "pile"}, "Select a valid choice."),
        ({"name": "zürich"}, "is violated"),
    ],
)
def test_bad_settings_are_told_on_the_form(browser: Browser, fields: dict[str, str], sentence: str) -> None:
    assert sentence in make(browser, **fields)
    assert not Queue.objects.exists()


def test_settings_are_changed_and_counters_left_alone(browser: Browser, orders: Queue) -> None:
    page = browser.get(f"{QUEUES}{orders.pk}/change/")
    assert not {"name", "tags", "kind", "newest_index", "next_sequence"} & page.context["adminform"].form.fields.keys()
    QueueCounter.objects.update(newest_index=7, next_sequence=8)
    change(browser, orders, max_length="9", newest_index="0", next_sequence="1")
    queue = Queue.objects.get()
    assert (queue.max_length, queue.counter.newest_index, queue.counter.next_sequence) == (9, 7, 8)
    assert queue.changed_at > orders.changed_at
    assert queue.heartbeat_timeout == orders.heartbeat_timeout


def test_pausing_and_resuming_reach_the_nodes_by_the_time_of_change(browser: Browser, orders: Queue) -> None:
    for action, paused in (("pause_queues", True), ("resume_queues", False)):
        before = timezone.now()
        act(browser, action, orders)
        queue = Queue.objects.get()
        assert queue.paused is paused
        assert queue.changed_at > before


def test_an_empty_queue_is_deleted_with_what_it_left(browser: Browser, orders: Queue) -> None:
    EndedCount.objects.create(queue_id=orders.pk, node_id=0, messages=1)
    DedupeValue.objects.create(queue_id=orders.pk, value="v", sequence=1, index=1, until=timezone.now())
    Position.objects.create(client=Client.objects.create(name="c", persistent=True), queue_id=orders.pk)
    browser.post(f"{QUEUES}{orders.pk}/delete/", {"post": "yes"})
    for left_over in (Queue, QueueCounter, EndedCount, DedupeValue, Position):
        assert not left_over.objects.exists()


def test_a_queue_with_messages_is_not_deleted(browser: Browser, orders: Queue) -> None:
    put_message(orders)
    page = browser.post(f"{QUEUES}{orders.pk}/delete/", {"post": "yes"}, follow=True).content.decode()
    assert "The queue orders [eu] holds messages; only an empty queue can be deleted." in page
    assert Queue.objects.exists()
    assert "delete_selected" not in browser.get(QUEUES).content.decode()
