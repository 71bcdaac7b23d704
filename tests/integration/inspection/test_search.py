"""Finding messages: what is found, in which order, page by page in both directions, and on which index."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from psycopg.errors import QueryCanceled

from clients.models import Client, Session
from delivery.inspection import index_walk
from delivery.inspection.filters import MessageFilter, queue_ids_like
from delivery.inspection.index_walk import BY_INDEX, IndexOrder, IndexWalk
from delivery.inspection.search import SearchPage, find_ids, find_messages, next_ids
from delivery.models import Message
from delivery.moves.message_id import MessageId
from delivery.moves.states import State
from delivery.storage.on_django import operate
from delivery.storage.reading import bounded_cursor
from queues.models import Kind, Queue
from queues.services import queue_create

pytestmark = pytest.mark.django_db

PAGE_ROWS = 50
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


def chosen(*queues: Queue, **conditions: Any) -> MessageFilter:
    """In these queues, or in all."""
    return MessageFilter(queue_ids=tuple(queue.pk for queue in queues) or queue_ids_like(), **conditions)


def in_state(state: State | None) -> MessageFilter:
    return chosen(states=frozenset() if state is None else frozenset({state}))


def found(wanted: MessageFilter, **how: Any) -> list[int | None]:
    return [one.index for one in find_ids(wanted, **{"limit": PAGE_ROWS, **how}).rows]


def follow(
    search: Callable[..., SearchPage[MessageId]], first: SearchPage[MessageId], forwards: bool
) -> list[list[tuple[int, int | None]]]:
    page, pages = first, []
    while True:
        pages.append([(one.queue_id, one.index) for one in page.rows])
        cursor = page.next if forwards else page.previous
        if cursor is None:
            return pages
        page = search(**{"after" if forwards else "before": cursor})


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
    wanted = in_state(state)
    search = partial(find_ids, wanted, limit=PAGE_ROWS, order=wanted.order_of_state, backwards=backwards)
    pages = follow(search, search(), forwards=True)
    assert [len(page) for page in pages] == [50, 50, 50, 4]
    assert sorted(chain.from_iterable(pages)) == sorted(Message.objects.values_list("queue_id", "index"))
    last = search(after=search(after=search().next).next)
    back = follow(search, last, forwards=False)
    assert back == [pages[2], pages[1], pages[0]]


@pytest.mark.parametrize("state", WORK_STATES)
def test_each_state_has_its_own_order(orders: Queue, state: State) -> None:
    fill(orders, 6, state)
    by_priority = [2, 5, 1, 4, 3, 6]  # priority 2, 1, 0, and then by age
    by_time = [1, 2, 3, 4, 5, 6]  # of two with the same time or the same session, the older one
    wanted = in_state(state)
    assert found(wanted, order=wanted.order_of_state) == (by_priority if state is State.READY else by_time)
    assert found(wanted) == ([1, 2, 3, 4, 5, 6] if state is State.READY else by_time)


def test_a_state_leaves_out_the_others(orders: Queue) -> None:
    for number, state in enumerate(WORK_STATES, start=1):
        add(orders, number, state=state, holder=1, lease_until=orders.defined_at, available_at=orders.defined_at)
    assert [found(in_state(state)) for state in WORK_STATES] == [[1], [2], [3]]
    assert found(in_state(State.RETAINED)) == []


def test_queues_are_chosen_by_name_pattern_and_tags(orders: Queue) -> None:
    berlin = queue_create(name="orders.berlin", tags=["de", "eu"])
    paris = queue_create(name="orders.paris", tags=["eu", "fr"])
    stream = queue_create(name="log", chosen={"kind": "stream"})
    assert queue_ids_like() == (orders.pk, berlin.pk, paris.pk, stream.pk)
    assert queue_ids_like(name="orders") == (orders.pk,)
    assert queue_ids_like(name="orders.*") == (berlin.pk, paris.pk)
    assert queue_ids_like(name="*.par?s") == ()
    assert queue_ids_like(tags=("eu",)) == (berlin.pk, paris.pk)
    assert queue_ids_like(tags=("eu", "fr")) == (paris.pk,)
    assert queue_ids_like(queue_id=berlin.pk) == (berlin.pk,)
    assert queue_ids_like(kind=Kind.STREAM) == (stream.pk,)


def test_by_id_and_by_index(orders: Queue) -> None:
    other = queue_create(name="invoices")
    fill(orders, 300)
    fill(other, 10)
    assert found(chosen(sequence=297)) == [4]
    assert found(chosen(index_from=4, index_to=4)) == [4, 4]
    assert found(chosen(other, index_from=4, index_to=4)) == [4]
    assert found(chosen(index_from=4, index_to=4, sequence=4)) == []
    assert found(chosen(sequence=297, states=frozenset({State.READY}))) == [4]
    assert found(chosen(orders, index_from=298)) == [298, 299, 300]
    assert found(chosen(orders, other, bounds={orders.pk: 2, other.pk: 1})) == [1, 2, 1]


def test_by_age_and_priority(orders: Queue) -> None:
    fill(orders, 10)
    now = timezone.now()
    assert found(chosen(posted_before=now - timedelta(minutes=8, seconds=30))) == [9, 10]
    assert found(chosen(posted_after=now - timedelta(minutes=2, seconds=30))) == [1, 2]
    assert found(chosen(priority_from=2)) == [2, 5, 8]
    assert found(chosen(priority_to=0)) == [3, 6, 9]


def test_dead_letters_by_how_they_died(orders: Queue) -> None:
    add(orders, 1, dead_reason="failed", last_error="no row 17", origin_queue_id=7)
    add(orders, 2, dead_reason="expired")
    assert found(chosen(reason="expired")) == [2]
    assert found(chosen(signature="no row #")) == [1]
    assert found(chosen(origin_queue_id=7)) == [1]


def test_by_text_in_the_body(orders: Queue) -> None:
    fill(orders, 500)
    add(orders, 501, body="zwölf 100%".encode())
    add(orders, 502, body=b"\x00\xffbinary 7%")
    assert found(chosen(text='"order": 77}')) == [77]
    assert found(chosen(text="zwölf")) == [501]
    assert found(chosen(text="7%")) == [502]
    assert found(chosen(text="ZWÖLF")) == []


def test_what_a_row_tells(orders: Queue) -> None:
    session = Session.objects.create(token="t", client=Client.objects.create(name="billing", persistent=True))
    add(orders, 5, state=State.CLAIMED, holder=session.pk, lease_until=orders.defined_at, body=b"x" * 1000, key="k")
    [row] = find_messages(chosen(), limit=1, body_bytes=120).rows
    assert (row.queue_name, row.state, row.holder_name, row.size, row.key) == (
        "orders", State.CLAIMED, "billing", 1000, "k",
    )  # fmt: skip
    assert row.body == b"x" * 120
    assert find_messages(chosen(), limit=1, body_bytes=None).rows[0].body is None


def test_a_search_that_runs_out_of_time_says_how_far_it_came(orders: Queue) -> None:
    fill(orders, 300)
    wanted = chosen(text='"order": 250}')
    page = find_ids(wanted, limit=PAGE_ROWS, seconds=1e-9)
    assert (page.rows, page.looked_at, page.stopped) == ([], 200, True)
    rest = find_ids(wanted, limit=PAGE_ROWS, after=page.next, seconds=1e-9)
    assert ([one.index for one in rest.rows], rest.looked_at, rest.stopped, rest.next) == ([250], 100, False, None)


def slow_above(monkeypatch: pytest.MonkeyPatch, messages: int) -> None:
    """Statements that look at more messages take too long."""
    take_step = IndexWalk.take_step

    async def slow(walk: IndexWalk, connection: Any) -> None:
        if walk.step > messages:
            raise OperationalError from QueryCanceled()
        await take_step(walk, connection)

    monkeypatch.setattr(IndexWalk, "take_step", slow)


def test_a_step_that_takes_too_long_is_cut(orders: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_above(monkeypatch, 20)
    monkeypatch.setattr(index_walk, "LONGEST_STEP", 20)
    fill(orders, 30)
    assert len(found(chosen(text="order"))) == 30


def test_a_search_that_cannot_take_one_step_is_given_up(orders: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise whoever reads page by page to the end would read the same page for ever."""
    slow_above(monkeypatch, 0)
    fill(orders, 1)
    with pytest.raises(OperationalError):
        find_ids(chosen(), limit=PAGE_ROWS)


def test_statements_end_when_their_time_is_over() -> None:
    with pytest.raises(OperationalError) as refused, bounded_cursor(0.01) as cursor:
        cursor.execute("SELECT pg_sleep(30)")
    assert isinstance(refused.value.__cause__, QueryCanceled)


def test_a_redrive_goes_on_from_where_its_last_statement_ended(orders: Queue) -> None:
    other = queue_create(name="invoices")
    for queue in (orders, other):
        fill(queue, 5)
    for wanted in (chosen(bounds={orders.pk: 4, other.pk: 5}), chosen(text="order", bounds={orders.pk: 4})):
        numbers, cursor, is_over = [], None, False
        while not is_over:
            ids, cursor = operate(lambda connection, c=wanted, a=cursor: next_ids(connection, c, a, limit=2))
            numbers += [(one.queue_id, one.index) for one in ids]
            is_over = cursor is None
        assert numbers == [(orders.pk, index) for index in range(1, 5)] + [(other.pk, index) for index in range(1, 6)]


@pytest.mark.parametrize(
    ("conditions", "index", "column"),
    [
        ({}, "delivery_message_pkey", "index"),
        ({"states": frozenset({State.READY})}, "message_ready", "priority"),
        ({"states": frozenset({State.CLAIMED})}, "message_claimed", "holder"),
        ({"states": frozenset({State.DELAYED})}, "message_delayed", "available_at"),
        ({"states": frozenset({State.READY}), "index_from": 5, "index_to": 5}, "delivery_message_pkey", "index"),
        ({"bounds": {1: 5}, "text": "x", "reason": "failed"}, "delivery_message_pkey", "last_index"),
    ],
)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("is_full", [False, True])
def test_each_search_walks_along_its_index(
    conditions: dict[str, Any], index: str, column: str, descending: bool, is_full: bool
) -> None:
    if is_full:
        with connection.cursor() as cursor:
            cursor.execute(FILL, {"queue": 1, "count": 2_000, "state": State.READY})
            cursor.execute("ANALYZE delivery_message")
    wanted = MessageFilter(queue_ids=(1,), **conditions)
    plan = plan_of(wanted, wanted.order_of_state, descending)
    assert f"using {index} on delivery_message" in plan, plan
    assert plan.count("on delivery_message") == 1, plan
    assert "Index Cond: ((queue_id = start.queue_id) AND " in plan, plan
    assert column in next(line for line in plan.splitlines() if "Index Cond" in line), plan


def test_redrives_walk_by_index_whatever_they_are_about() -> None:
    plan = plan_of(MessageFilter(queue_ids=(1,), states=frozenset({State.DELAYED})), BY_INDEX, descending=False)
    assert "using delivery_message_pkey on delivery_message" in plan, plan


def plan_of(wanted: MessageFilter, order: IndexOrder, descending: bool) -> str:
    walk = IndexWalk(order, wanted.conditions(order), queue_ids=[1], descending=descending, step=10)

    async def explain(connection: Any) -> str:
        cursor = connection.cursor()
        await cursor.execute(f"EXPLAIN (COSTS OFF) {walk.statement()}", walk._values([1]))
        return "\n".join(line for (line,) in await cursor.fetchall())

    return operate(explain)
