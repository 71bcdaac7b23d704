"""Walking along an index of messages, queue by queue and in either direction, to find some of them in bounded time.

A walk looks at a bounded number of messages in each statement, whether they match or not, and goes on from where the
last statement ended. Messages of one state are walked along the index that holds only those.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString, NamedTuple

from django.db import OperationalError
from psycopg import AsyncConnection
from psycopg.errors import QueryCanceled

from delivery.moves.message_id import MessageId, row_id
from delivery.moves.states import State
from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from queues.integer_ranges import BIGINT_MAX

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
BIGINT_MIN = -BIGINT_MAX - 1

FIRST_STEP = 200  # messages that are looked at in the first statement
LONGEST_STEP = 20_000
STEP_GROWTH = 4
STEP_CUT = 20  # by which a step that took too long is shortened
SHORTEST_SECONDS = 0.2  # that a statement may take, however little time is left
QUEUES_AT_ONCE = 1_000


class MessageCursor(NamedTuple):
    """Where a walk is: past the message with these values. Times are counted in microseconds."""

    queue_id: int
    first: int
    second: int


class Match(NamedTuple):
    cursor: MessageCursor
    id: MessageId


@dataclass(frozen=True, slots=True)
class IndexOrder:
    """Messages of a queue are ordered by `first` and then `second`; `only` is the condition of the index."""

    first: LiteralString
    second: LiteralString
    only: LiteralString
    forwards: str  # what the order is called
    backwards: str
    by_time: bool = False

    @property
    def kind(self) -> LiteralString:
        return "timestamptz" if self.by_time else "bigint"

    @property
    def has_one_column(self) -> bool:
        return self.first == NO_COLUMN

    @property
    def compared(self) -> tuple[LiteralString, LiteralString]:
        """What is compared with a cursor. A constant in front would keep PostgreSQL from going by the index."""
        if self.has_one_column:
            return f"({self.second})", "(start.second)"
        return f"({self.first}, {self.second})", "(start.first, start.second)"

    def written(self, number: int) -> str:
        """The first number of a cursor, as PostgreSQL reads it."""
        if not self.by_time:
            return str(number)
        try:
            return (EPOCH + number * MICROSECOND).isoformat()
        except OverflowError:
            return "infinity" if number > 0 else "-infinity"

    def number(self, value: Any) -> int:
        return (value - EPOCH) // MICROSECOND if self.by_time else value


NO_COLUMN: LiteralString = "0::bigint"
BY_INDEX = IndexOrder(NO_COLUMN, "index", "true", "oldest first", "newest first")
BY_PRIORITY = IndexOrder(
    "priority * -1", "index", f"state = {State.READY:d}", "next to be handed out first", "last to be handed out first"
)
BY_HOLDER = IndexOrder(
    "holder", "index", f"lease_until IS NOT NULL AND state = {State.CLAIMED:d}", "by session, earliest first",
    "by session, latest first",
)  # fmt: skip
BY_DELAY = IndexOrder(
    "available_at", "index", f"state = {State.DELAYED:d}", "due next first", "due last first", by_time=True
)
BEHIND_BY_PRIORITY = IndexOrder(
    "priority * -1", "index", f"state + 0 = {State.BEHIND:d}", "most urgent first", "least urgent first"
)

ORDER_OF_STATE = {
    State.READY: BY_PRIORITY,
    State.DELAYED: BY_DELAY,
    State.CLAIMED: BY_HOLDER,
    State.BEHIND: BEHIND_BY_PRIORITY,
}


@dataclass(frozen=True, slots=True)
class Conditions:
    """Which messages are looked for. `narrowing` is served by the index, so messages that do not meet it are not
    passed; `match` is asked of each message that is passed. Both may use `start`, the queue's row of the statement."""

    narrowing: LiteralString
    match: LiteralString
    values: Mapping[str, Any]

    @property
    def match_all(self) -> bool:
        return self.match == "true"


@dataclass(slots=True)
class IndexWalk:
    """A walk, as far as it has come: `found` holds the matches; it is over when no queues are left."""

    order: IndexOrder
    conditions: Conditions
    queue_ids: list[int]  # that are left, in the direction of the walk, the one of the cursor included
    descending: bool = False
    cursor: MessageCursor | None = None
    last_indexes: Mapping[int, int] = field(default_factory=dict)  # by queue: the newest index that counts
    step: int = FIRST_STEP  # messages that the next statement looks at
    found: list[Match] = field(default_factory=list)
    looked_at: int = 0

    def run(self, *, enough: int, seconds: float) -> bool:
        """On Django's connection, until enough is found or nothing is left. False: the time was over before."""
        deadline, left = time.monotonic() + seconds, seconds
        while self.queue_ids and len(self.found) < enough:
            if left <= 0 or not self._go_on(max(left, SHORTEST_SECONDS)):
                return False
            left = deadline - time.monotonic()
        return True

    def _go_on(self, seconds: float) -> bool:
        """Take one step. False: even the shortest took too long; raised if nothing was looked at at all."""
        try:
            operate(self.take_step, seconds=seconds)
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled):
                raise
            self.step //= STEP_CUT
            if not self.step and not self.looked_at:
                raise
            return self.step > 0
        self.step = min(self.step * STEP_GROWTH, LONGEST_STEP)
        return True

    async def take_step(self, connection: AsyncConnection[Any]) -> None:
        queue_ids = self.queue_ids[:QUEUES_AT_ONCE]
        rows = await fetch_rows(connection, self.statement(), self._values(queue_ids))
        passed = rows[-1].total if rows else 0
        self.looked_at += passed
        for row in rows:
            self.cursor = MessageCursor(row.queue_id, self.order.number(row.first), row.second)
            if row.matches:
                self.found.append(Match(self.cursor, row_id(row)))
        if passed < self.step:
            self._leave(queue_ids)
        else:
            self.queue_ids = self.queue_ids[self.queue_ids.index(rows[-1].queue_id) :]

    def _leave(self, queue_ids: list[int]) -> None:
        """There is nothing more in these queues."""
        beyond = BIGINT_MIN if self.descending else BIGINT_MAX
        self.cursor = MessageCursor(queue_ids[-1], beyond, beyond)
        self.queue_ids = self.queue_ids[len(queue_ids) :]

    def _values(self, queue_ids: list[int]) -> dict[str, Any]:
        beginning = BIGINT_MAX if self.descending else BIGINT_MIN
        starts = dict.fromkeys(queue_ids, (beginning, beginning))
        if self.cursor is not None and self.cursor.queue_id in starts:
            starts[self.cursor.queue_id] = (self.cursor.first, self.cursor.second)
        return {
            **self.conditions.values,
            "queue_id": queue_ids,
            "first": [self.order.written(first) for first, _ in starts.values()],
            "second": [second for _, second in starts.values()],
            "last_index": [self.last_indexes.get(queue_id, BIGINT_MAX) for queue_id in queue_ids],
            "step": self.step,
        }

    def statement(self) -> LiteralString:
        """The matches among the next so many messages, and the last message of them even if it does not match.

        A queue's messages come in order from the lateral part, and queues in the order of the array: such a join can
        only be a loop. It ends as soon as the step is full, so queues that are not needed are not touched.
        """
        order, wanted = self.order, self.conditions
        direction, beyond = ("DESC", "<") if self.descending else ("ASC", ">")
        key, start = order.compared
        return f"""
            WITH passed AS MATERIALIZED (
                SELECT m.*
                FROM unnest(
                    %(queue_id)s::bigint[], %(first)s::text[]::{order.kind}[], %(second)s::bigint[],
                    %(last_index)s::bigint[]
                ) AS start (queue_id, first, second, last_index)
                CROSS JOIN LATERAL (
                    SELECT queue_id, sequence, index, {order.first} AS first, {order.second} AS second,
                           {wanted.match} AS matches
                    FROM delivery_message
                    WHERE queue_id = start.queue_id AND {order.only} AND {wanted.narrowing} AND {key} {beyond} {start}
                    ORDER BY {order.first} {direction}, {order.second} {direction}
                    LIMIT %(step)s
                ) m
                LIMIT %(step)s
            ), numbered AS (
                SELECT *, row_number() OVER () AS number, count(*) OVER () AS total FROM passed
            )
            SELECT queue_id, sequence, index, first, second, matches, total
            FROM numbered WHERE matches OR number = total ORDER BY number
        """
