"""The screens about messages, as a browser without JavaScript sees them."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser
from django.urls import reverse
from django.utils import timezone

from clients.models import Session
from delivery.models import AuditEntry, KeptReply, Message
from delivery.moves.states import State
from delivery.storage.vocabulary import REQUEST
from queues.models import Queue
from queues.services import queue_create
from tests.support.admin_login import logged_in_browser
from tests.support.console_staff import staff_browser

pytestmark = pytest.mark.django_db

MESSAGES = "/console/messages/"


@pytest.fixture
def browser() -> Browser:
    return logged_in_browser()


@pytest.fixture
def orders() -> Queue:
    return queue_create(name="orders", tags=["eu"])


def add(queue: Queue, index: int, **fields: Any) -> str:
    """A message, and how forms name it."""
    defaults = {"sequence": index, "priority": 0, "state": State.READY, "body": b'{"secret": %d}' % index}
    if fields.get("state") == State.DELAYED:
        defaults["available_at"] = timezone.now() + timedelta(hours=1)
    Message.objects.create(queue_id=queue.pk, index=index, **defaults | fields)
    return f"{queue.pk}/{index}/{index}"


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    return answer.content.decode()


def told(answer: Any) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def act(browser: Browser, action: str, *ids: str, **fields: Any) -> Any:
    given = {"action": action, "message": ids, "answered": "yes", **fields}
    return browser.post(f"{MESSAGES}act/", given, follow=True)


def test_the_list_shows_messages_and_leads_to_them(browser: Browser, orders: Queue) -> None:
    add(orders, 17)
    page = text_of(browser.get(MESSAGES))
    assert reverse("console:message", args=[orders.pk, 17]) in page
    assert "secret" in page


def test_every_field_of_the_search_counts(browser: Browser, orders: Queue) -> None:
    add(orders, 17)
    add(orders, 18, state=State.DELAYED, sequence=99)
    for field, value in {
        "queue": "ord*", "tags": "eu", "state": "1", "id": "99", "index": "18", "younger": "1h", "text": '"secret": 18',
        "queue_id": str(orders.pk),
    }.items():  # fmt: skip
        rows = browser.get(MESSAGES, {field: value}).context["found"].rows
        assert 18 in [row.index for row in rows], field
    others = {"queue": "x", "tags": "us", "state": "0", "id": "1", "index": "1", "older": "1h", "text": "18x"}
    for field, value in others.items():
        rows = browser.get(MESSAGES, {field: value}).context["found"].rows
        assert 18 not in [row.index for row in rows], field


def test_headers_are_shown_and_found_by_name(browser: Browser, orders: Queue) -> None:
    """Their names to everybody, their values to those who may see bodies."""
    add(orders, 17, headers={"traceparent": "00-abc", "kind": "<b>invoice</b>"})
    add(orders, 18, headers={"kind-of": "x"})
    add(orders, 19)
    assert "Has a header named" in text_of(browser.get(MESSAGES))
    for name, indexes in {"kind": [17], "traceparent": [17], "kind-of": [18], "invoice": [], "": [17, 18, 19]}.items():
        rows = browser.get(MESSAGES, {"header": name}).context["found"].rows
        assert sorted(row.index for row in rows) == indexes, name
    address = reverse("console:message", args=[orders.pk, 17])
    page = text_of(browser.get(address))
    assert all(text in page for text in ("traceparent", "00-abc", "kind", "&lt;b&gt;invoice&lt;/b&gt;"))
    page = text_of(staff_browser("look").get(address))
    assert "traceparent" in page and "00-abc" not in page


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("older", "soon", "A time span must be written as"),
        ("index", "-1", "greater than or equal to 0"),
        ("id", "x", "Enter a whole number"),
        ("state", "9", "not one of the available choices"),
        ("after", "1.2", "This cursor was not given by a page of this list."),
    ],
)
def test_what_is_wrong_with_a_search_is_said(browser: Browser, field: str, value: str, error: str) -> None:
    assert error in text_of(browser.get(MESSAGES, {field: value}))


def test_without_the_permission_bodies_are_hidden_and_not_searched(orders: Queue) -> None:
    add(orders, 17)
    visitor = staff_browser("look")
    for address in (MESSAGES, f"{MESSAGES}{orders.pk}/17/"):
        page = text_of(visitor.get(address))
        assert "secret" not in page
        assert "hidden" in page.lower()
    page = text_of(visitor.get(MESSAGES, {"text": "nowhere"}))
    assert "may not see bodies" in page
    assert "No message matches" not in page


def test_without_the_permission_nothing_is_done(orders: Queue) -> None:
    chosen = add(orders, 17)
    visitor = staff_browser("look", "see_bodies")
    assert 'name="action"' not in text_of(visitor.get(MESSAGES))
    assert act(visitor, "drop", chosen).status_code == 403
    assert Message.objects.count() == 1


def act_on_matching(browser: Browser, action: str, search: str, **fields: Any) -> Any:
    return browser.post(f"{MESSAGES}act/", {"action": action, "matching": search, **fields}, follow=True)


def test_all_that_match_are_counted_asked_for_and_done(browser: Browser, orders: Queue) -> None:
    for index in range(1, 61):  # more than a page
        add(orders, index, state=State.DELAYED if index > 5 else State.READY)
    page = text_of(browser.get(MESSAGES, {"queue": "orders", "state": "1"}))
    assert "matching=queue%3Dorders%26state%3D1&amp;" in page
    question = text_of(act_on_matching(browser, "retry", "queue=orders&state=1"))
    assert "Retry now: all that match, 55 messages" in question
    assert Message.objects.filter(state=State.READY).count() == 5
    assert told(act_on_matching(browser, "retry", "queue=orders&state=1", answered="yes")) == ["Retry now: 55 done."]
    assert Message.objects.filter(state=State.READY).count() == 60
    assert told(act_on_matching(browser, "drop", "index=7", answered="yes")) == ["Drop: 1 done."]
    assert not Message.objects.filter(index=7).exists()


def test_matching_and_the_target_of_a_move_do_not_mix(browser: Browser, orders: Queue) -> None:
    other = queue_create(name="returns", tags=["us"])
    add(orders, 17)
    moved = act_on_matching(browser, "move", "queue=orders&tags=eu", answered="yes", queue="returns", tags="us")
    assert told(moved) == ["Move: 1 done."]
    assert Message.objects.get().queue_id == other.pk


@pytest.mark.parametrize(
    ("search", "error"),
    [
        ("sort=last", "Search for something first"),
        ("nonsense=1", "Search for something first"),
        ("queue=orders&older=soon", "The search is wrong: older"),
    ],
)
def test_a_search_that_is_wrong_changes_nothing(browser: Browser, orders: Queue, search: str, error: str) -> None:
    add(orders, 17)
    answer = act_on_matching(browser, "drop", search, answered="yes")
    assert [sentence for sentence in told(answer) if sentence.startswith(error)], told(answer)
    assert Message.objects.count() == 1


def test_who_may_not_see_bodies_cannot_act_by_their_text(orders: Queue) -> None:
    add(orders, 17)
    answer = act_on_matching(staff_browser("look", "change_messages"), "drop", "text=secret", answered="yes")
    assert "may not see bodies" in told(answer)[0]
    assert Message.objects.count() == 1


def test_an_action_asks_first(browser: Browser, orders: Queue) -> None:
    chosen = [add(orders, index) for index in (17, 18)]
    page = text_of(browser.post(f"{MESSAGES}act/", {"action": "drop", "message": chosen, "back": MESSAGES}))
    assert "Drop: 2 messages" in page
    assert "gone for good" in page
    assert Message.objects.count() == 2
    page = text_of(browser.get(f"{MESSAGES}act/", {"action": "drop", "message": chosen[0]}))
    assert "Drop: 1 message" in page


def test_dropping_counts_what_was_done_and_what_was_not(browser: Browser, orders: Queue) -> None:
    held = {"state": State.CLAIMED, "holder": 1, "lease_until": timezone.now()}
    chosen = [add(orders, 17), add(orders, 18, **held), f"{orders.pk}/99/99"]
    assert told(act(browser, "drop", *chosen)) == [
        "Drop: 1 done; 2 skipped (1 held by a client, 1 not there (any more))."
    ]
    assert list(Message.objects.values_list("index", flat=True)) == [18]
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.target, entry.messages) == ("operator", "drop messages", str(orders), 1)


def test_retrying_priority_and_moving(browser: Browser, orders: Queue) -> None:
    other = queue_create(name="returns", tags=["eu"])
    chosen = [add(orders, 17, state=State.DELAYED), add(orders, 18)]
    assert told(act(browser, "retry", *chosen)) == ["Retry now: 1 done; 1 skipped (1 ready)."]
    assert told(act(browser, "priority", *chosen, priority="7")) == ["Change priority: 2 done."]
    assert set(Message.objects.values_list("priority", flat=True)) == {7}
    assert told(act(browser, "move", *chosen, queue="returns", tags="eu")) == ["Move: 2 done."]
    assert set(Message.objects.values_list("queue_id", flat=True)) == {other.pk}


@pytest.mark.parametrize(
    ("action", "fields", "error"),
    [
        ("priority", {"priority": "-1"}, "greater than or equal to 0"),
        ("priority", {}, "This field is required"),
        ("move", {"queue": "nowhere", "tags": "eu"}, "There is no queue nowhere with the tags eu."),
        ("move", {"queue": ""}, "This field is required"),
    ],
)
def test_an_answer_that_is_wrong_is_asked_again(
    browser: Browser, orders: Queue, action: str, fields: dict[str, str], error: str
) -> None:
    assert error in text_of(act(browser, action, add(orders, 17), **fields))
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"action": "drop"}, "Choose at least one message first."),
        ({"action": "drop", "message": f"{'9' * 5000}/1"}, "A message is named by shard/sequence"),
        ({"action": "drop", "message": "x"}, "A message is named by shard/sequence"),
        ({"action": "eat", "message": "1/1/1"}, "The action must be one of retry, priority, move, drop, not 'eat'."),
    ],
)
def test_a_choice_that_is_wrong(browser: Browser, given: dict[str, str], error: str) -> None:
    answer = browser.post(f"{MESSAGES}act/", given, follow=True)
    assert [message for message in told(answer) if message.startswith(error)], told(answer)


def test_one_comes_back_to_where_one_was_but_never_elsewhere(browser: Browser, orders: Queue) -> None:
    here = f"{MESSAGES}?queue=orders"
    assert act(browser, "drop", add(orders, 17), back=here).redirect_chain[0][0] == here
    assert act(browser, "drop", add(orders, 18), back="https://example.org/").redirect_chain[0][0] == MESSAGES


def test_a_message_tells_everything_about_itself(browser: Browser, orders: Queue) -> None:
    add(orders, 17, priority=3, key="order-17", attempts=2, last_error="no such customer")
    page = text_of(browser.get(f"{MESSAGES}{orders.pk}/17/"))
    for part in (
        "order-17",
        "no such customer",
        "No client is waiting for its messages.",
        "Posted with priority 3",
        "nobody reads",
    ):
        assert part in page, part
    assert "{\n  &quot;secret&quot;: 17\n}" in page


def test_how_a_message_is_now_comes_last_in_its_life(browser: Browser, orders: Queue) -> None:
    session, now = Session.objects.create(token="t"), timezone.now()
    times = {"posted_at": now - timedelta(minutes=2), "assigned_at": now - timedelta(minutes=1), "lease_until": now}
    add(orders, 17, state=State.CLAIMED, holder=session.pk, **times)
    Queue.objects.update(retry_delay=60)
    browser.post(f"/console/sessions/{session.pk}/fail/")
    events = browser.get(f"{MESSAGES}{orders.pk}/17/").context["events"]
    assert [event.what for event in events] == ["posted", "assigned", "retried", "delayed"]


def test_a_body_is_shown_as_asked(browser: Browser, orders: Queue) -> None:
    add(orders, 17)
    add(orders, 18, body=b"\xff\xfe")
    address = f"{MESSAGES}{orders.pk}/17/"
    assert "{&quot;secret&quot;: 17}" in text_of(browser.get(address, {"view": "text"}))
    assert "00000000  7b 22 73" in text_of(browser.get(address, {"view": "hex"}))
    assert browser.get(f"{MESSAGES}{orders.pk}/18/", {"view": "json"}).context["view"] == "hex"


def test_a_message_that_has_ended_still_has_its_page(browser: Browser, orders: Queue) -> None:
    act(browser, "drop", add(orders, 17))
    page = text_of(browser.get(f"{MESSAGES}{orders.pk}/17/"))
    assert "dropped" in page
    assert "Not kept" in page
    assert browser.get(f"{MESSAGES}{orders.pk}/18/").status_code == 404


def test_a_kept_reply_is_shown_to_those_who_may_see_bodies(browser: Browser, orders: Queue) -> None:
    act(browser, "drop", add(orders, 17))
    KeptReply.objects.create(
        queue_id=orders.pk,
        index=17,
        outcome="finished",
        attempts=1,
        reply=b"secret answer",
        until=timezone.now() + timedelta(hours=1),
    )
    address = f"{MESSAGES}{orders.pk}/17/"
    assert "secret answer" in text_of(browser.get(address))
    assert "secret answer" not in text_of(staff_browser("look").get(address))


def test_which_queues_tags_mean(browser: Browser, orders: Queue) -> None:
    queue_create(name="orders", tags=["us"])
    explained = browser.get("/console/tag-explainer/", {"name": "orders", "tags": "eu", "match": "strict"})
    assert "It lacks eu." in text_of(explained)
    assert [(one.queue.tags, one.matches) for one in explained.context["explained"]] == [
        (["eu"], True),
        (["us"], False),
    ]
    assert "There is no queue of that name" in text_of(browser.get("/console/tag-explainer/", {"name": "nowhere"}))


def edit(browser: Browser, queue: Queue, index: int, **fields: Any) -> Any:
    return browser.post(f"{MESSAGES}{queue.pk}/{index}/edit/", fields, follow=True)


def test_a_waiting_message_is_changed_and_keeps_its_place(browser: Browser, orders: Queue) -> None:
    add(orders, 17)
    assert "{&quot;secret&quot;: 17}" in text_of(browser.get(f"{MESSAGES}{orders.pk}/17/edit/"))
    answer = edit(browser, orders, 17, body='{"mended":\r\n true}', priority="4")
    assert told(answer) == ["Changed message 17."]
    message = Message.objects.get()
    assert (bytes(message.body), message.priority, message.index) == (b'{"mended":\n true}', 4, 17)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.messages) == ("change message", "orders [eu]", 1)


@pytest.mark.parametrize("fields", [{"state": State.CLAIMED, "holder": 1}, {"notify": REQUEST}])
def test_what_does_not_wait_is_not_changed(browser: Browser, orders: Queue, fields: dict[str, Any]) -> None:
    add(orders, 17, **fields)
    answer = edit(browser, orders, 17, body="other", priority="0")
    assert "The message no longer waits" in text_of(answer)
    assert bytes(Message.objects.get().body) == b'{"secret": 17}'
    assert not AuditEntry.objects.exists()


def test_a_body_that_is_no_text_is_not_changed_by_hand(browser: Browser, orders: Queue) -> None:
    add(orders, 17, body=b"\xff\x00")
    answer = browser.get(f"{MESSAGES}{orders.pk}/17/edit/", follow=True)
    assert told(answer) == ["The body is not text, so it cannot be changed here."]


@pytest.mark.parametrize("missing", ["change_messages", "see_bodies"])
def test_changing_needs_both_permissions(orders: Queue, missing: str) -> None:
    add(orders, 17)
    has = {"look", "change_messages", "see_bodies"} - {missing}
    answer = staff_browser(*has).post(f"{MESSAGES}{orders.pk}/17/edit/", {"body": "x", "priority": "0"})
    assert answer.status_code == 403
    assert bytes(Message.objects.get().body) == b'{"secret": 17}'


def test_work_in_progress_shows_the_longest_first_with_its_last_keepalive(browser: Browser, orders: Queue) -> None:
    now = timezone.now()
    session = Session.objects.create(token="t", address="10.0.0.7")
    claim = {"state": State.CLAIMED, "holder": session.pk, "work_timeout": 60.0}
    quiet, kept = now - timedelta(minutes=2), now - timedelta(minutes=9)
    add(orders, 1, assigned_at=quiet, lease_until=quiet + timedelta(seconds=60), **claim)
    add(orders, 2, assigned_at=kept, lease_until=now + timedelta(seconds=30), **claim)
    add(orders, 3)
    works = browser.get("/console/work/").context["works"]
    assert [entry["work"].index for entry in works] == [2, 1]
    assert works[0]["work"].kept_alive_at == now - timedelta(seconds=30)
    assert (works[1]["work"].kept_alive_at, works[1]["is_late"]) == (None, True)
    assert browser.get("/console/work/", {"queue": "invoices"}).context["works"] == []


def test_queue_names_are_offered_where_one_is_asked_for(browser: Browser, orders: Queue) -> None:
    one = add(orders, 17)
    page = text_of(browser.get(f"{MESSAGES}act/", {"action": "move", "message": one}))
    assert '<option value="orders"></option>' in page
