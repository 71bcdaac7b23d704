"""`GET /api/clients/<name>/`: what a client reads, how far it has come, where it is, and who may know."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import chain, combinations
from typing import Any, get_args

import pytest
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.db.models.functions import Now
from django.test import Client as Browser
from django.utils import timezone

from clients.models import Client, Node, Position, Session, Subscription
from clients.services import key_create
from delivery.engine.matching import matches
from delivery.figures.clients import subscribed_to
from delivery.models import Message
from delivery.moves.states import State
from delivery.protocol.fields import Match
from queues.models import Queue
from queues.services import queue_create

pytestmark = pytest.mark.django_db

ELSEWHERE = "203.0.113.9"
MATCHES: tuple[Match, ...] = get_args(Match)


@pytest.fixture
def billing() -> Client:
    return Client.objects.create(name="billing", persistent=True)


def subscribe(
    client: Client, label: int = 1, match: str = "all", tags: Iterable[str] = (), name: str = "orders"
) -> None:
    Subscription.objects.create(
        client=client, label=label, name=name, tags=list(tags), match=match, in_flight=16, sync="write"
    )


def connect(client: Client) -> Session:
    node = Node.objects.create(name="north", url="ws://north/connect/")
    return Session.objects.create(token="t", node=node, client=client)


def put(queue: Queue, *indexes: int, **fields: Any) -> None:
    for index in indexes:
        Message.objects.create(
            queue_id=queue.pk, sequence=index, index=index, priority=0, body=b"m", **{"state": State.RETAINED} | fields
        )


def claim(queue: Queue, session: Session, *indexes: int) -> None:
    put(queue, *indexes, state=State.CLAIMED, holder=session.pk, lease_until=timezone.now())


def record_of(name: str) -> dict[str, Any]:
    return Browser().get(f"/api/clients/{name}/").json()


def subsets(tags: str) -> list[tuple[str, ...]]:
    return list(chain.from_iterable(combinations(tags, size) for size in range(len(tags) + 1)))


def test_a_client_that_is_away_and_reads_nothing(billing: Client) -> None:
    assert record_of("billing") == {
        "name": "billing",
        "persistent": True,
        "defined_at": billing.defined_at.isoformat(),
        "subscribed_to": [],
        "node": None,
        "connected_at": None,
    }


def test_an_unknown_client() -> None:
    answer = Browser().get("/api/clients/no/body/")
    assert answer.status_code == 404
    message = "There is no client no/body."
    assert answer.json() == {"type": "error", "label": None, "code": "NoObject", "key": "no/body", "message": message}


def test_a_live_client_has_its_node(billing: Client) -> None:
    session = connect(billing)
    record = record_of("billing")
    assert (record["node"], record["connected_at"]) == ("north", session.connected_at.isoformat())


def test_on_a_dead_node_a_client_is_not_connected(billing: Client) -> None:
    connect(billing)
    lapse = timedelta(seconds=django_settings.WILLOW.node_lapse + 1)
    Node.objects.update(heartbeat_at=Now() - lapse)
    assert record_of("billing")["node"] is None


def test_of_a_work_queue_what_the_client_holds_is_outstanding(billing: Client) -> None:
    queue = queue_create(name="orders", tags=["eu"])
    subscribe(billing)
    session = connect(billing)
    stranger = Session.objects.create(token="other")
    Position.objects.create(client=billing, queue_id=queue.pk, acked_index=9, delivered_index=20)
    claim(queue, session, 12, 5)
    claim(queue, stranger, 6)
    put(queue, 7, state=State.READY)
    [read] = record_of("billing")["subscribed_to"]
    assert read == {"name": "orders", "tags": ["eu"], "acked_index": 9, "outstanding_index": [5, 12]}


def test_what_a_client_holds_while_it_is_expected_back_is_outstanding_too(billing: Client) -> None:
    queue = queue_create(name="orders")
    subscribe(billing)
    claim(queue, connect(billing), 3)
    Session.objects.update(node=None, held_until=timezone.now() + timedelta(hours=1))
    record = record_of("billing")
    assert (record["node"], record["subscribed_to"][0]["outstanding_index"]) == (None, [3])


def test_of_a_stream_what_was_sent_and_not_acknowledged_is_outstanding(billing: Client) -> None:
    queue = queue_create(name="orders", chosen={"kind": "stream"})
    subscribe(billing)
    put(queue, *(index for index in range(1, 13) if index != 7))  # retention has removed 7
    Position.objects.create(
        client=billing, queue_id=queue.pk, acked_index=8, floor_index=4, acked_above=[6, 8], delivered_index=10
    )
    [read] = record_of("billing")["subscribed_to"]
    assert (read["acked_index"], read["outstanding_index"]) == (8, [5, 9, 10])


def test_a_stream_that_was_not_read_yet(billing: Client) -> None:
    put(queue_create(name="orders", chosen={"kind": "stream"}), 1, 2)
    subscribe(billing)
    [read] = record_of("billing")["subscribed_to"]
    assert (read["acked_index"], read["outstanding_index"]) == (0, [])


def test_a_queue_that_several_subscriptions_choose_is_listed_once(billing: Client) -> None:
    queue_create(name="orders", tags=["eu"])
    queue_create(name="orders", tags=["de", "eu"])
    queue_create(name="invoices")
    subscribe(billing, 1, "strict", ["eu"])
    subscribe(billing, 2, "exact", ["eu"])
    subscribe(billing, 3, "all", name="nothing")
    assert [read.tags for read in subscribed_to(billing)] == [("de", "eu"), ("eu",)]


def test_the_statement_chooses_the_queues_that_the_directory_chooses(billing: Client) -> None:
    every = subsets("abcd")
    for tags in every:
        queue_create(name="orders", tags=tags)
    for match in MATCHES:
        for wanted in every:
            Subscription.objects.all().delete()
            subscribe(billing, 1, match, reversed(wanted))
            chosen = {read.tags for read in subscribed_to(billing)}
            assert chosen == {tags for tags in every if matches(tags, frozenset(wanted), match)}, (match, wanted)


@pytest.mark.parametrize(
    ("client", "grants", "status"),
    [
        ("billing", {}, 200),
        ("other", {}, 403),
        ("other", {"*": frozenset({"post", "fetch", "create", "serve", "request"})}, 403),
        ("other", {"billing": frozenset({"admin"})}, 403),
        ("other", {"*": frozenset({"admin"})}, 200),
    ],
    ids=["its own key", "another's key", "every right of a client", "admin of some queues", "admin of all"],
)
def test_which_keys_read_the_record(billing: Client, client: str, grants: Any, status: int) -> None:
    key = key_create(client_name=client, grants=grants).secret
    answer = Browser().get("/api/clients/billing/", {"token": key}, REMOTE_ADDR=ELSEWHERE)
    assert answer.status_code == status


def test_a_key_does_not_learn_which_clients_exist(billing: Client) -> None:
    key = key_create(client_name="other", grants={}).secret
    answers = [Browser().get(f"/api/clients/{name}/", {"token": key}) for name in ("billing", "nobody")]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(403, "PermissionDenied")] * 2


def test_staff_read_the_record_and_strangers_do_not(billing: Client) -> None:
    browser = Browser()
    assert browser.get("/api/clients/billing/", REMOTE_ADDR=ELSEWHERE).status_code == 401
    browser.force_login(get_user_model().objects.create_user("staff", is_staff=True))
    assert browser.get("/api/clients/billing/", REMOTE_ADDR=ELSEWHERE).status_code == 200
