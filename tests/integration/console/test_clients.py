"""The screens about clients, keys and sessions, as a browser without JavaScript sees them."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser
from django.utils import timezone

from clients.models import Client, Key, Node, Position, Session, Subscription
from clients.services import key_create
from delivery.figures.clients import client_figures, client_progress
from delivery.models import AuditEntry, Message, ServiceConfig
from delivery.moves.states import State
from queues.models import Queue, QueueCounter
from queues.services import queue_create
from tests.support.admin_login import logged_in_browser
from tests.support.console_staff import staff_browser

pytestmark = pytest.mark.django_db

CLIENTS = "/console/clients/"


@pytest.fixture
def browser() -> Browser:
    return logged_in_browser()


@pytest.fixture
def billing() -> Client:
    return Client.objects.create(name="billing", persistent=True)


@pytest.fixture
def session(billing: Client) -> Session:
    node = Node.objects.create(name="north", url="ws://north/connect/")
    return Session.objects.create(token="unguessable", node=node, client=billing, address="192.0.2.7")


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    return answer.content.decode()


def hold(queue: Queue, session: Session, *indexes: int) -> None:
    for index in indexes:
        Message.objects.create(
            queue_id=queue.pk, sequence=index, index=index, priority=0, body=b"m", state=State.CLAIMED,
            holder=session.pk, lease_until=timezone.now(), assigned_at=timezone.now(),
        )  # fmt: skip


def test_figures_of_a_client(billing: Client, session: Session) -> None:
    work, stream = queue_create(name="orders"), queue_create(name="events", chosen={"kind": "stream"})
    hold(work, session, 3, 4)
    QueueCounter.objects.filter(pk=stream.pk).update(newest_index=20)
    Position.objects.create(
        client=billing, queue_id=stream.pk, acked_index=8, floor_index=5, acked_above=[7, 8], delivered_index=10
    )
    Subscription.objects.create(client=billing, label=1, name="events", match="all", in_flight=16, sync="write")
    key_create(client_name="billing", grants={})
    figures = client_figures([billing.pk])[billing.pk]
    assert (figures.node, figures.held, figures.behind) == ("north", 2, 13)
    assert (figures.subscriptions, figures.valid_keys) == (1, 1)
    progress = {one.name: (one.acked_index, one.outstanding, one.behind) for one in client_progress(billing)}
    assert progress == {"events": (8, 3, 13), "orders": (0, 2, None)}


def test_what_an_idle_worker_reads_is_shown(browser: Browser, billing: Client, session: Session) -> None:
    orders = queue_create(name="orders")
    Node.objects.update(reading={str(session.pk): [orders.pk]})
    assert client_figures([billing.pk])[billing.pk].reads == ["orders"]
    assert 'data-label="Reads"><span><span class="wrap-anywhere">orders</span>' in text_of(
        browser.get("/console/sessions/")
    )


def test_a_client_on_a_dead_node_is_not_connected(billing: Client, session: Session) -> None:
    Node.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1))
    assert client_figures([billing.pk])[billing.pk].node is None


def test_clients_are_searched_and_leafed_through(browser: Browser) -> None:
    Client.objects.bulk_create(Client(name=f"worker-{number:03}", persistent=False) for number in range(120))
    seen, address = [], CLIENTS
    while address:
        context = browser.get(address).context
        seen.append([client.name for client, _ in context["clients"]])
        address = context["listed"].next and f"{CLIENTS}{context['listed'].next}"
    assert [len(names) for names in seen] == [50, 50, 20]
    back = browser.get(f"{CLIENTS}{context['listed'].previous}").context
    assert [client.name for client, _ in back["clients"]] == seen[1]
    assert [client.name for client, _ in browser.get(CLIENTS, {"name": "R-007"}).context["clients"]] == ["worker-007"]


def test_a_new_client(browser: Browser) -> None:
    answer = browser.post(f"{CLIENTS}new/", {"name": "shipping", "persistent": "no"}, follow=True)
    assert "transient" in text_of(answer)
    assert "<dt>Last seen</dt><dd>never</dd>" in text_of(answer)
    assert "must be 1 to 200 printable ASCII" in text_of(
        browser.post(f"{CLIENTS}new/", {"name": "ü", "persistent": "no"})
    )
    assert [entry.target for entry in AuditEntry.objects.all()] == ["shipping"]


def test_a_key_is_shown_once_and_kept_out_of_the_audit(browser: Browser, billing: Client) -> None:
    answer = browser.post(f"{CLIENTS}{billing.pk}/keys/new/", {"grants": "orders*:post", "expires_at": "30d"})
    secret = answer.context["secret"]
    assert secret in text_of(answer)
    assert "no-store" in answer["Cache-Control"]
    assert secret not in text_of(browser.get(f"{CLIENTS}{billing.pk}/"))
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.details["grants"]) == ("make key", "billing", ["orders*:post"])
    assert secret not in str(entry.details)


def test_all_keys_are_listed_with_what_they_may_do(browser: Browser) -> None:
    key_create(client_name="billing", grants={"orders*": frozenset({"post", "fetch"})})
    key_create(client_name="shipping", grants={"parcels": frozenset({"fetch"})})
    ended = key_create(client_name="old", grants={}).record
    Key.objects.filter(pk=ended.pk).update(revoked_at=timezone.now())
    shown = text_of(browser.get("/console/keys/"))
    assert "orders*</span>: post, fetch" in shown and "parcels</span>: fetch" in shown and ended.prefix not in shown
    assert "<time datetime=" in shown

    def found(**search: str) -> list[str]:
        return [key.client.name for key, *_ in browser.get("/console/keys/", search).context["keys"]]

    assert found(state="all") == ["old", "shipping", "billing"]
    assert found(state="ended") == ["old"]
    assert found(of="ship") == ["shipping"]
    assert found(of=ended.prefix + "more of it", state="all") == ["old"]


def test_a_key_is_rotated_and_revoked(browser: Browser, billing: Client) -> None:
    old = key_create(client_name="billing", grants={"*": frozenset({"post"})}).record
    answer = browser.post(f"/console/keys/{old.pk}/rotate/", {"grace": "0s"})
    assert answer.context["grants"] == ["*:post"]
    assert Key.objects.get(pk=old.pk).revoked_at is not None
    again = browser.post(f"/console/keys/{old.pk}/rotate/", {"grace": "0s"})
    assert "cannot be rotated, because it is revoked" in text_of(again)
    new = answer.context["key"]
    browser.post(f"/console/keys/{new.pk}/revoke/")
    assert Key.objects.get(pk=new.pk).revoked_at is not None
    assert [entry.action for entry in AuditEntry.objects.order_by("id")] == ["rotate key", "revoke key"]


def test_a_connected_client_is_not_deleted(browser: Browser, billing: Client, session: Session) -> None:
    address = f"{CLIENTS}{billing.pk}/delete/"
    assert "is connected to the node north" in text_of(browser.post(address, follow=True))
    Session.objects.update(node=None, ended_at=timezone.now())
    assert "Deleted the client billing." in text_of(browser.post(address, follow=True))
    assert not Client.objects.exists()


def test_sessions_are_chosen_by_state_and_by_whose_they_are(browser: Browser, session: Session) -> None:
    held = Session.objects.create(token="held", held_until=timezone.now())
    ended = Session.objects.create(token="ended", ended_at=timezone.now())
    for given, expected in (
        ({}, {session, held}), ({"state": "live"}, {session}), ({"state": "held"}, {held}),
        ({"state": "orphaned"}, set()), ({"state": "ended"}, {ended}), ({"of": "bill"}, {session}),
        ({"of": "north"}, {session}), ({"of": "192.0.2.7"}, {session}), ({"of": "nobody"}, set()),
    ):  # fmt: skip
        listed = browser.get("/console/sessions/", given).context["sessions"]
        assert {one for one, *_ in listed} == expected, given


def test_a_token_is_never_shown(browser: Browser, billing: Client, session: Session) -> None:
    for address in ("/console/sessions/", f"{CLIENTS}{billing.pk}/", CLIENTS):
        assert "unguessable" not in text_of(browser.get(address))


def test_what_an_away_session_holds_fails_when_it_is_disconnected(browser: Browser, session: Session) -> None:
    queue = queue_create(name="orders", chosen={"retry_delay": 0})
    hold(queue, session, 3)
    Session.objects.update(node=None, held_until=timezone.now() + timedelta(hours=1))
    assert "ends" not in text_of(browser.get(f"/console/sessions/{session.pk}/disconnect/"))
    answer = browser.post(f"/console/sessions/{session.pk}/disconnect/", follow=True)
    assert f"Disconnected session {session.pk} of billing; messages that it held: 1." in text_of(answer)
    assert Message.objects.get().state == State.READY
    assert Session.objects.get().ended_at is not None


@pytest.mark.parametrize("what", ["disconnect", "fail"])
def test_who_may_not_end_sessions(session: Session, what: str) -> None:
    visitor = staff_browser("look", "change_messages")
    assert visitor.post(f"/console/sessions/{session.pk}/{what}/").status_code == 403
    assert what not in text_of(visitor.get("/console/sessions/")).lower().replace("disconnected", "")


@pytest.mark.parametrize("address", ["keys/new/", "delete/"])
def test_who_may_not_change_clients(billing: Client, address: str) -> None:
    visitor = staff_browser("look", "disconnect_clients")
    assert visitor.post(f"{CLIENTS}{billing.pk}/{address}", {"grants": ""}).status_code == 403
    assert visitor.get(f"{CLIENTS}new/").status_code == 403


def test_a_service_is_configured_version_by_version() -> None:
    browser = logged_in_browser()
    form = {"name": "resize", "heartbeat_interval": "5", "config": '{"width": 800}'}
    assert (
        "resize is at version 1." in browser.post("/console/service-configs/new/", form, follow=True).content.decode()
    )
    config = ServiceConfig.objects.get(name="resize")
    address = f"/console/service-configs/{config.pk}/"
    browser.post(address, {**form, "config": '{"width": 900}'})
    wrong = browser.post(address, {**form, "config": '{"width": 1, "width": 2}'}).content.decode()
    assert "Enter a JSON object" in wrong
    first = config.versions.get(version=1)
    browser.post(f"/console/service-configs/versions/{first.pk}/restore/", follow=True)
    config.refresh_from_db()
    assert (config.version, config.config) == (3, {"width": 800})
    assert "as version 1" in browser.get(address).content.decode()
    looker = staff_browser("look")
    assert looker.post(address, form).status_code == 403
    assert "Save" not in looker.get(address).content.decode()
    browser.post(f"{address}delete/")
    assert not ServiceConfig.objects.exists()


def test_a_client_shows_what_it_reads(billing: Client) -> None:
    queue_create(name="invoices")
    session = Session.objects.filter(client=billing, ended_at=None).first() or Session.objects.create(
        token="reads", client=billing
    )
    queue = Queue.objects.get(name="invoices")
    Message.objects.create(
        queue_id=queue.pk, sequence=1, index=1, priority=0, state=State.CLAIMED, body=b"", holder=session.pk,
        lease_until=timezone.now(),
    )  # fmt: skip
    assert "invoices" in client_figures([billing.pk])[billing.pk].reads
