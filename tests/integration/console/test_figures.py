"""What the screens show of the broker, compared with what is in the database."""

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from clients.models import Node
from console import readings
from console.effective_settings import EffectiveSetting, effective_settings
from console.screens.overview import read_overview
from console.screens.queue import read_queue
from delivery.figures.dead_letters import died_lately
from delivery.figures.queues import QueueFigures, all_queue_figures
from delivery.figures.recent_rates import SLOT_SECONDS, Lately
from delivery.figures.times import history, latest, recent_times
from delivery.models import Journal, Message, QueueFact
from delivery.moves.states import State
from queues.models import Queue, QueueCounter
from queues.services import queue_create, queue_update

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def unread() -> Iterator[None]:
    """What an earlier test has read is not for this one."""
    forget_readings()
    yield
    forget_readings()


def forget_readings() -> None:
    for reading in vars(readings).values():
        if hasattr(reading, "forget"):
            reading.forget()


def put(queue: Queue, *messages: dict[str, Any]) -> None:
    now = timezone.now()
    for number, fields in enumerate(messages, queue.counter.next_sequence):
        age = fields.pop("age", 0)
        usual: dict[str, Any] = {
            "state": State.READY,
            "priority": 0,
            "body": b"",
            "posted_at": now - timedelta(seconds=age),
        }
        if fields.get("state") == State.CLAIMED:
            usual |= {"holder": 1, "lease_until": now}
        if fields.get("state") == State.DELAYED:
            usual |= {"available_at": now}
        Message.objects.create(queue_id=queue.pk, sequence=number, index=number, **{**usual, **fields})
    QueueCounter.objects.filter(pk=queue.pk).update(next_sequence=number + 1, newest_index=len(messages))


def figures_of(queue: Queue) -> QueueFigures:
    return next(figures for figures in all_queue_figures() if figures.id == queue.pk)


def test_messages_are_counted_by_state() -> None:
    queue = queue_create(name="orders", tags=["eu"])
    put(queue, {}, {}, {"state": State.CLAIMED}, {"state": State.DELAYED})
    found = figures_of(queue)
    assert (found.live, found.ready, found.claimed, found.delayed) == (4, 2, 1, 1)
    assert str(found) == "orders [eu]"


def test_an_empty_queue_has_nothing_old() -> None:
    found = figures_of(queue_create(name="orders"))
    assert (found.live, found.oldest_age, found.is_unconsumed) == (0, None, False)


def test_the_oldest_claimable_message_may_wait_behind_others() -> None:
    queue = queue_create(name="orders")
    put(queue, {"age": 500, "priority": 0}, {"age": 10, "priority": 9}, {"age": 900, "state": State.DELAYED})
    assert figures_of(queue).oldest_age == pytest.approx(500, abs=30)


def test_consumers_are_those_of_living_nodes() -> None:
    queue = queue_create(name="orders")
    put(queue, {})
    long_ago = timezone.now() - timedelta(hours=1)
    Node.objects.create(name="gone", url="", readers={str(queue.pk): 5}, heartbeat_at=long_ago)
    assert figures_of(queue).is_unconsumed
    Node.objects.create(name="north", url="", readers={str(queue.pk): 2})
    assert figures_of(queue).consumers == 2


def test_dead_letters_of_the_hour_are_counted() -> None:
    queue = queue_create(name="orders.dead")
    now = timezone.now()
    put(queue, {"died_at": now - timedelta(hours=2)}, {"died_at": now}, {"died_at": now - timedelta(minutes=59)})
    assert died_lately([queue.pk]) == {queue.pk: 2}


def journal(queue: Queue, outcome: str, **times: Any) -> None:
    given = {"posted_at": timezone.now(), "assigned_at": None, "ended_at": timezone.now()} | times
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO delivery_journal (queue_id, queue_name, queue_tags, index, outcome, attempt, priority, size,"
            " posted_at, assigned_at, ended_at) VALUES (%s, 'orders', '{}', 1, %s, 1, 0, 1, %s, %s, %s)",
            [queue.pk, outcome, given["posted_at"], given["assigned_at"], given["ended_at"]],
        )


@pytest.mark.django_db(transaction=True)
def test_ends_are_counted_once_and_where_they_happened() -> None:
    Journal.objects.all().delete()  # other tests commit into it
    queue = queue_create(name="orders")
    lately = Lately()
    for outcome in ("finished", "finished", "retried", "dead", "popped"):
        journal(queue, outcome)
    for _ in range(3):
        lately.look({queue.pk: 0})
    for rates in (lately.rates(queue.pk), lately.rates()):
        per_minute = 60 / SLOT_SECONDS
        assert sum(rates.finished) == 3 * per_minute
        assert sum(rates.failed) == 2 * per_minute
        assert sum(rates.dead) == per_minute
    assert sum(lately.rates(queue.pk + 1).finished) == 0


@pytest.mark.django_db(transaction=True)
def test_posts_are_spread_over_the_time_between_two_looks() -> None:
    lately, now = Lately(), timezone.now().timestamp() // SLOT_SECONDS * SLOT_SECONDS
    lately.look({1: 100}, now=now)
    lately.look({1: 160, 2: 30}, now=now + 3 * SLOT_SECONDS)
    rates = lately.rates(1, now=now + 3 * SLOT_SECONDS)
    assert rates.posted[-3:] == pytest.approx([120, 120, 0])
    assert rates.posted[0] is None  # nobody counted then
    assert lately.rates(0, now=now + 3 * SLOT_SECONDS).posted[-2] == pytest.approx(180)


def test_waiting_and_working_times_come_from_the_journal() -> None:
    queue = queue_create(name="orders")
    now = timezone.now()
    for wait, work in ((1, 2), (3, 4)):
        assigned_at = now - timedelta(seconds=work)
        journal(
            queue, "finished", posted_at=assigned_at - timedelta(seconds=wait), assigned_at=assigned_at, ended_at=now
        )
    journal(queue, "finished", ended_at=now - timedelta(hours=2))
    times = recent_times(queue.pk)
    assert latest(times["wait_p50"]) == pytest.approx(2)
    assert latest(times["work_p50"]) == pytest.approx(3)
    assert len(list(filter(None, times["work_p95"]))) == 1


def test_history_comes_from_the_facts() -> None:
    queue = queue_create(name="orders")
    of_a_day = {"grain": "hour", "step": timedelta(hours=1), "steps": 24}
    hour = history(queue.pk, **of_a_day).begins[-1]
    assert (hour.minute, hour.second, hour.microsecond) == (0, 0, 0)
    assert hour <= timezone.now() < hour + timedelta(hours=2)
    QueueFact.objects.create(
        grain="hour", bucket=hour, queue_id=queue.pk, queue_name="orders", queue_tags=[], posted=120, wait_p95=0.5
    )
    past = history(queue.pk, **of_a_day)
    place = past.begins.index(hour)  # the last, unless the hour has ended just now
    assert past.per_minute["posted"][place - 1 : place + 1] == [0, 2]
    assert past.seconds["wait_p95"][place - 1 : place + 1] == [None, 0.5]
    assert not past.is_empty
    assert history(queue.pk, grain="day", step=timedelta(days=1), steps=9).is_empty
    shown = read_queue(QueryDict("range=7d"), queue.pk)
    assert (shown["range"], shown["without_facts"]) == ("7d", False)


def settings_of(queue: Queue) -> dict[str, EffectiveSetting]:
    return {setting.name: setting for setting in effective_settings(Queue.objects.get(pk=queue.pk))}


def test_every_setting_says_where_it_comes_from(settings: Any) -> None:
    queue = queue_create(name="orders", chosen={"retry_limit": 9})
    shown = settings_of(queue)
    assert (shown["retry_limit"].value, shown["retry_limit"].source) == ("9", "set on the queue")
    assert (shown["heartbeat_timeout"].source, shown["heartbeat_timeout"].note) == (
        "default",
        "WILLOW_HEARTBEAT_TIMEOUT",
    )
    assert shown["max_length"].value == "no bound"
    assert "retention_count" not in shown
    queue_update(queue=queue, changes={"heartbeat_timeout": 12.0})
    with override_settings(WILLOW=dataclasses.replace(settings.WILLOW, heartbeat_timeout=12.0)):
        changed = settings_of(queue)["heartbeat_timeout"]
        assert (changed.value, changed.source) == ("12 s", "environment")


def test_the_overview_asks_as_often_for_many_queues_as_for_few() -> None:
    def queries() -> int:
        forget_readings()
        with CaptureQueriesContext(
            connection,
        ) as captured:
            read_overview(QueryDict())
        return len(captured)

    put(queue_create(name="orders"), {})
    few = queries()
    for number in range(50):
        put(queue_create(name=f"queue-{number}"), {}, {})
        put(queue_create(name=f"queue-{number}.dead"), {})
    assert queries() == few
