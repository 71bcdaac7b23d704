"""Finding messages: what is found, in which order, page by page in both directions, and on which index."""

from collections.abc import Callable
from datetime import timedelta
from itertools import chain
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import OperationalError, connection
from psycopg.errors import QueryCanceled

from clients.models import Client, Session
from delivery.inspection import index_walk as scans
from delivery.inspection import search as message_search
from delivery.inspection.search import PAGE_ROWS, MessagePage, MessageQuery, search_messages
from delivery.inspection.walks import read_place, walk_for
from delivery.models import Message
from delivery.moves.states import State
from queues.models import Queue
from queues.services import queue_create

pytestmark = pytest.mark.django_db

WORK_STATES = (State.READY, State.DELAYED, State.CLAIMED)
FILL = """
    INSERT INTO delivery_message (queue_id, sequence, index, priority, state, posted_at, available_at, holder,
                                  lease_until, body)
    SELECT %(queue)s, %(count)s + 1 - n, n, n %% 3, %(state)s, now() - n * interval '1 minute',
           now() + n / 2 * interval '1 second', 1, now() + n / 2 * interval '1 second',
           convert_to(format('{"order": %%s}', n), 'UTF8')
    FROM generate_series(1, %(count)s) n
"""


def fill(queue: Queue, count: int, state: State = State.READY) -> None:
    """Message n has index n, is n minutes old, and shares its times with a neighbour."""
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"queue": queue.pk, "count": count, "state": state})


def add(queue: Queue, index: int, **fields: Any) -> Message:
    defaults = {"sequence": index, "priority": 0, "state": State.READY, "body": b"m"}
    return Message.objects.create(queue_id=queue.pk, index=index, **defaults | fields)


def found(query: MessageQuery, **how: Any) -> list[int]:
    return [row.index for row in search_messages(query, **how).rows]


def follow(query: MessageQuery, first: MessagePage, forwards: bool) -> list[list[tuple[int, int]]]:
    page, pages = first, []
    while True:
        pages.append([(row.queue_id, row.index) for row in page.rows])
        place = page.next if forwards else page.previous
        if place is None:
            return pages
        page = search_messages(query, **{"after" if forwards else "before": place})


@pytest.fixture
def orders() -> Queue:
    return queue_create(name="orders")


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("state", [None, *State])
def test_pages_have_every_message_once_in_both_directions(state: State | None, backwards: bool) -> None:
    kind = "stream" if state is State.RETAINED else "work"
    queues = [queue_create(name=f"queue-{number}", chosen={"kind": kind}) for number in range(4)]
    for queue, count in zip(queues, (0, 2 * PAGE_ROWS, 1, PAGE_ROWS + 3), strict=True):
        fill(queue, count, State.READY if state is None else state)
    query = MessageQuery(state=state, backwards=backwards)
    pages = follow(query, search_messages(query), forwards=True)
    assert [len(page) for page in pages] == [50, 50, 50, 4]
    assert sorted(chain.from_iterable(pages)) == sorted(Message.objects.values_list("queue_id", "index"))
    last = search_messages(query, after=search_messages(query, after=search_messages(query).next).next)
    back = follow(query, last, forwards=False)
    assert back == [pages[2], pages[1], pages[0]]


@pytest.mark.parametrize("state", WORK_STATES)
def test_each_state_has_its_own_order(orders: Queue, state: State) -> None:
    fill(orders, 6, state)
    by_turn = [2, 5, 1, 4, 3, 6]  # priority 2, 1, 0, and then by age
    by_time = [1, 3, 2, 5, 4, 6]  # of two with the same time, the one with the lower ID
    assert found(MessageQuery(state=state)) == (by_turn if state is State.READY else by_time)


def test_a_state_leaves_out_the_others(orders: Queue) -> None:
    for number, state in enumerate(WORK_STATES, start=1):
        add(orders, number, state=state, holder=1, lease_until=orders.defined_at, available_at=orders.defined_at)
    assert [found(MessageQuery(state=state)) for state in WORK_STATES] == [[1], [2], [3]]
    assert found(MessageQuery(state=State.RETAINED)) == []


def test_queues_are_chosen_by_name_pattern_and_tags(orders: Queue) -> None:
    berlin = queue_create(name="orders.berlin", tags=["de", "eu"])
    paris = queue_create(name="orders.paris", tags=["eu", "fr"])
    for index, queue in enumerate((orders, berlin, paris), start=1):
        add(queue, index)
    assert found(MessageQuery(queue_name="orders")) == [1]
    assert found(MessageQuery(queue_name="orders.*")) == [2, 3]
    assert found(MessageQuery(queue_name="*.par?s")) == []
    assert found(MessageQuery(tags=("eu",))) == [2, 3]
    assert found(MessageQuery(tags=("eu", "fr"))) == [3]
    assert found(MessageQuery(queue_id=berlin.pk)) == [2]


def test_by_id_and_by_index(orders: Queue) -> None:
    other = queue_create(name="invoices")
    fill(orders, 300)
    fill(other, 10)
    assert found(MessageQuery(sequence=297)) == [4]
    assert found(MessageQuery(index=4)) == [4, 4]
    assert found(MessageQuery(index=4, queue_name="invoices")) == [4]
    assert found(MessageQuery(index=4, sequence=4)) == []
    assert found(MessageQuery(sequence=297, state=State.READY)) == [4]


def test_by_age(orders: Queue) -> None:
    fill(orders, 10)
    assert found(MessageQuery(older_than=timedelta(minutes=8, seconds=30))) == [9, 10]
    assert found(MessageQuery(younger_than=timedelta(minutes=2, seconds=30))) == [1, 2]
    assert found(MessageQuery(older_than=timedelta(minutes=4), younger_than=timedelta(minutes=5, seconds=30))) == [4, 5]


def test_by_text_in_the_body(orders: Queue) -> None:
    fill(orders, 500)
    add(orders, 501, body="zwölf 100%".encode())
    add(orders, 502, body=b"\x00\xffbinary 7%")
    assert found(MessageQuery(text='"order": 77}')) == [77]
    assert found(MessageQuery(text="zwölf")) == [501]
    assert found(MessageQuery(text="7%")) == [502]
    assert found(MessageQuery(text="ZWÖLF")) == []


def test_what_a_row_tells(orders: Queue) -> None:
    session = Session.objects.create(token="t", client=Client.objects.create(name="billing", persistent=True))
    add(orders, 5, state=State.CLAIMED, holder=session.pk, lease_until=orders.defined_at, body=b"x" * 1000, key="k")
    [row] = search_messages(MessageQuery(), with_bodies=True).rows
    assert (row.queue_name, row.state, row.holder_name, row.size, row.key) == (
        "orders", State.CLAIMED, "billing", 1000, "k",
    )  # fmt: skip
    assert row.beginning == b"x" * message_search.BEGINNING_BYTES
    assert search_messages(MessageQuery()).rows[0].beginning is None


def test_a_search_that_runs_out_of_time_says_how_far_it_came(orders: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_search, "TEXT_SECONDS", 0)
    fill(orders, 300)
    query = MessageQuery(text='"order": 250}')
    page = search_messages(query)
    assert (page.rows, page.looked_at, page.stopped) == ([], 200, True)
    rest = search_messages(query, after=page.next)
    assert ([row.index for row in rest.rows], rest.looked_at, rest.stopped, rest.next) == ([250], 100, False, None)


def test_a_step_that_takes_too_long_is_cut(orders: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    take_step: Callable[..., list[Any]] = scans.Scan._take_step

    def slow(scan: scans.Scan, *args: Any) -> list[Any]:
        if scan._step > 20:
            raise OperationalError from QueryCanceled()
        return take_step(scan, *args)

    monkeypatch.setattr(scans.Scan, "_take_step", slow)
    monkeypatch.setattr(scans, "LONGEST_STEP", 20)
    fill(orders, 30)
    assert len(found(MessageQuery())) == 30


def test_statements_end_when_their_time_is_over() -> None:
    with pytest.raises(OperationalError) as refused, message_search.bounded_cursor(0.01) as cursor:
        cursor.execute("SELECT pg_sleep(30)")
    assert isinstance(refused.value.__cause__, QueryCanceled)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (MessageQuery(), "message_index_once_per_queue"),
        (MessageQuery(state=State.READY), "message_ready"),
        (MessageQuery(state=State.CLAIMED), "message_lease"),
        (MessageQuery(state=State.DELAYED), "message_delayed"),
        (MessageQuery(index=5), "message_index_once_per_queue"),
    ],
)
@pytest.mark.parametrize("descending", [False, True])
def test_each_search_walks_along_its_index(query: MessageQuery, index: str, descending: bool) -> None:
    walk, wanted = walk_for(query.state), message_search._wanted(query)
    values = {**wanted.values, "queue_id": [1], "first": [walk.written(0)], "second": [0], "step": 10}
    with message_search.bounded_cursor() as cursor:
        cursor.execute(f"EXPLAIN (COSTS OFF) {scans._statement(walk, wanted, descending)}", values)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert f"using {index} on delivery_message" in plan, plan
    assert plan.count("on delivery_message") == 1, plan
    assert "Index Cond: ((queue_id = place.queue_id) AND " in plan, plan


@pytest.mark.parametrize("text", ["", "1", "1.2", "1.2.x", "1.2.3.4", f"1.2.{2**64}"])
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(ValidationError, match="A place is written as three whole numbers"):
        read_place(text)
