"""What operators do to messages: retry now, drop, move, change the priority. Claimed messages are left alone."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from psycopg import AsyncConnection

from delivery.inspection.filters import MessageFilter
from delivery.inspection.search import find_ids
from delivery.moves import waiting
from delivery.moves.message_id import MessageId, id_columns, in_batches, in_lock_order, with_indexes
from delivery.moves.removal import drop
from delivery.moves.states import UNCLAIMED, State
from delivery.moves.transfer import lock_unclaimed, transfer
from delivery.operating.announcing import NAME, Announcements
from delivery.operating.audit import Operator, audited
from delivery.operating.tally import BATCH, BUSY, CLAIMED, GONE, MOST_MESSAGES, REQUEST, Budget, Tally
from delivery.protocol.fields import U32_MAX
from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from delivery.storage.statements import statement
from delivery.storage.vocabulary import DROP
from delivery.storage.vocabulary import REQUEST as REQUEST_BIT
from queues.definitions import QueueRecord, record_of
from queues.models import Queue

SHOWN_IDS = 100  # in an audit entry
SHOWN_QUEUES = 5

Choice = MessageFilter | Sequence[MessageId]
# Does one batch. Returns the positions (from 1 on) of the messages that were done, and why others failed.
Batch = Callable[[AsyncConnection[Any], Sequence[MessageId], Announcements], Awaitable[tuple[set[int], Counter[str]]]]


def messages_retry_now(*, chosen: Choice, by: Operator, limit: int = MOST_MESSAGES) -> Tally:
    """Make delayed messages ready at once."""
    return _act("retry messages now", chosen, by, _retry_now, limit, can_be=frozenset({State.DELAYED}))


def messages_drop(*, chosen: Choice, by: Operator, limit: int = MOST_MESSAGES) -> Tally:
    """Drop messages for good. Posters that asked for `drop` get a notice."""
    return _act("drop messages", chosen, by, drop_batch, limit, can_be=frozenset(State) - {State.CLAIMED})


def messages_move(*, chosen: Choice, target: Queue, by: Operator, limit: int = MOST_MESSAGES) -> Tally:
    """Move messages to the end of another queue, with their priority and the rest of their delay and ttl."""
    if target.pk in queues_of(chosen):
        raise ValidationError(f"The messages are in the queue {target} already.")
    record = queue_record(target)

    async def move(
        connection: AsyncConnection[Any], ids: Sequence[MessageId], told: Announcements
    ) -> tuple[set[int], Counter[str]]:
        return await _move(connection, ids, record, told)

    details = {"to": str(target)}
    return _act("move messages", chosen, by, move, limit, details, can_be=UNCLAIMED)


def messages_set_priority(*, chosen: Choice, priority: int, by: Operator, limit: int = MOST_MESSAGES) -> Tally:
    """Change the priority of waiting messages."""
    if not 0 <= priority <= U32_MAX:
        raise ValidationError(f"A priority is a whole number from 0 to {U32_MAX}, not {priority}.")

    async def reprioritise(
        connection: AsyncConnection[Any], ids: Sequence[MessageId], told: Announcements
    ) -> tuple[set[int], Counter[str]]:
        changed = await waiting.reprioritise(connection, ids, priority)
        return {row.place for row in changed}, Counter()

    return _act("change priority", chosen, by, reprioritise, limit, {"priority": priority}, can_be=UNCLAIMED)


def queue_record(queue: Queue) -> QueueRecord:
    values = Queue.objects.filter(pk=queue.pk).values().first()
    if values is None:
        raise ValidationError(f"The queue {queue} is gone.")
    return record_of(values)


def _act(
    action: str,
    chosen: Choice,
    by: Operator,
    batch: Batch,
    limit: int,
    details: dict[str, Any] | None = None,
    *,
    can_be: frozenset[State],
) -> Tally:
    said = {**(details or {}), "chosen": describe(chosen)}
    with audited(by=by, action=action, target=_target(chosen), details=said) as tally:
        if isinstance(chosen, MessageFilter):
            tally.add(act_on_filter(chosen, batch, Budget(limit), can_be))
        else:
            for ids in in_batches(chosen, BATCH):
                tally.add(_do(batch, ids, can_be))
    return tally


def act_on_filter(chosen: MessageFilter, batch: Batch, budget: Budget, can_be: frozenset[State]) -> Tally:
    """Act on the messages of a filter, a batch at a time, until the budget is spent."""
    tally = Tally()
    page = find_ids(chosen, limit=budget.batch)
    while True:
        if page.rows:
            tally.add(_do(batch, page.rows, can_be))
            budget.spend(len(page.rows))
        tally.more = page.next is not None and budget.is_spent
        if page.next is None or tally.more:
            return tally
        page = find_ids(chosen, limit=budget.batch, after=page.next)


def _do(batch: Batch, ids: Sequence[MessageId], can_be: frozenset[State]) -> Tally:
    """One batch, in one transaction. Waiting clients are woken when it is committed."""
    told = Announcements()

    async def work(connection: AsyncConnection[Any]) -> Tally:
        named = in_lock_order(await with_indexes(connection, ids))
        done, failed = await batch(connection, named, told)
        left = [one for place, one in enumerate(named, 1) if place not in done]
        skipped = await _reasons(connection, left, can_be) - failed_places(failed)
        return Tally(done=len(done), skipped=skipped, failed=failed)

    tally = operate(work)
    told.send()
    return tally


def failed_places(failed: Counter[str]) -> Counter[str]:
    """Messages that failed were free to be moved, and so would count as busy too."""
    return Counter({BUSY: failed.total()})


async def _reasons(
    connection: AsyncConnection[Any], ids: Sequence[MessageId], can_be: frozenset[State]
) -> Counter[str]:
    """Why messages were not moved."""
    if not ids:
        return Counter()
    states = {row.place: row for row in await fetch_rows(connection, statement("states_of"), id_columns(ids))}
    return Counter(_reason(states.get(place), can_be) for place in range(1, len(ids) + 1))


def _reason(row: Any, can_be: frozenset[State]) -> str:
    if row is None:
        return GONE
    if row.state == State.CLAIMED:
        return CLAIMED
    if State(row.state) not in can_be:
        return State(row.state).label
    return REQUEST if row.notify & REQUEST_BIT else BUSY


async def _retry_now(
    connection: AsyncConnection[Any], ids: Sequence[MessageId], told: Announcements
) -> tuple[set[int], Counter[str]]:
    rows = await waiting.retry_now(connection, ids)
    for row in rows:
        told.became_ready(row.queue_id)
    return {row.place for row in rows}, Counter()


async def drop_batch(
    connection: AsyncConnection[Any], ids: Sequence[MessageId], told: Announcements, *, forced: bool = False
) -> tuple[set[int], Counter[str]]:
    rows = await drop(connection, ids, by=NAME, forced=forced)
    if any(row.notify & DROP for row in rows):
        told.notices_left()
    holders = [row.holder for row in rows if row.holder is not None]
    if holders:
        await connection.execute(statement("order_sessions"), {"session": holders, "disconnects": False})
        told.orders_left()
    return {row.place for row in rows}, Counter()


async def _move(
    connection: AsyncConnection[Any], ids: Sequence[MessageId], target: QueueRecord, told: Announcements
) -> tuple[set[int], Counter[str]]:
    rows = await lock_unclaimed(connection, ids)
    result = await transfer(connection, rows, target, by=NAME)
    if result.moved:
        told.became_ready(target.id, len(result.moved))
    if result.left_notices:
        told.notices_left()
    return {row.place for row, _ in result.moved}, Counter(reason for _, reason in result.refused)


def describe(chosen: Choice) -> Any:
    if isinstance(chosen, MessageFilter):
        return chosen.as_json()
    shown = [str(one) for one in chosen[:SHOWN_IDS]]
    return {"ids": shown, "count": len(chosen)}


def _target(chosen: Choice) -> str:
    """The names of the queues."""
    ids = sorted(queues_of(chosen))
    named = {queue.pk: str(queue) for queue in Queue.objects.filter(pk__in=ids)}
    names = [named.get(queue_id, f"queue {queue_id}") for queue_id in ids]
    rest = f" and {len(names) - SHOWN_QUEUES} more" if len(names) > SHOWN_QUEUES else ""
    return ", ".join(names[:SHOWN_QUEUES]) + rest


def queues_of(chosen: Choice) -> set[int]:
    return set(chosen.queue_ids) if isinstance(chosen, MessageFilter) else {one.queue_id for one in chosen}
