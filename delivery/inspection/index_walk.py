"""Walking along an index of messages, queue by queue, to find some of them in bounded time."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, LiteralString

from django.db import OperationalError
from psycopg.errors import QueryCanceled

from delivery.inspection.walks import HIGHEST, LOWEST, Place, Walk
from delivery.storage.reading import bounded_cursor

FIRST_STEP = 200  # messages that are looked at in the first statement
LONGEST_STEP = 20_000
STEP_GROWTH = 4
STEP_CUT = 20  # by which a step that took too long is shortened
SHORTEST_SECONDS = 0.2  # that a statement may take, however little time is left
QUEUES_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which messages are looked for. `narrowing` is served by the index of the walk or by the primary key, and
    messages that do not meet it are not passed; `hit` is asked of each message that is passed."""

    narrowing: LiteralString
    hit: LiteralString
    values: Mapping[str, Any]


@dataclass(slots=True)
class Scan:
    """One walk. After `run`, either enough was found, or all was looked at, or it `stopped` at `reached`."""

    walk: Walk
    wanted: Wanted
    queue_ids: list[int]  # in the order of the walk, from the queue of `start` on
    descending: bool
    start: Place | None
    enough: int
    seconds: float
    found: list[tuple[Place, int]] = field(default_factory=list)  # places, and the IDs of the messages there
    looked_at: int = 0
    stopped: bool = False
    reached: Place | None = None
    _step: int = FIRST_STEP

    def run(self) -> None:
        deadline = time.monotonic() + self.seconds
        self.reached = self.start
        left = self.seconds
        while not self._is_done and not self.stopped:
            moved = self._go_on(max(left, SHORTEST_SECONDS))
            left = deadline - time.monotonic()
            self.stopped = not self._is_done and (left <= 0 or not moved)

    @property
    def _is_done(self) -> bool:
        return not self.queue_ids or len(self.found) >= self.enough

    def _go_on(self, seconds: float) -> bool:
        """Take one step; False: even the shortest took too long."""
        queue_ids = self.queue_ids[:QUEUES_AT_ONCE]
        try:
            rows = self._take_step(queue_ids, seconds)
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled):
                raise
            self._step //= STEP_CUT
            return self._step > 0
        total = rows[-1][-1] if rows else 0
        self.looked_at += total
        for queue_id, sequence, first, second, hit, _ in rows:
            self.reached = Place(queue_id, self.walk.number(first), second)
            if hit:
                self.found.append((self.reached, sequence))
        if total < self._step:
            self._leave(queue_ids)
        else:
            self.queue_ids = self.queue_ids[self.queue_ids.index(rows[-1][0]) :]
            self._step = min(self._step * STEP_GROWTH, LONGEST_STEP)
        return True

    def _leave(self, queue_ids: list[int]) -> None:
        """There is nothing more in these queues."""
        self.reached = Place(queue_ids[-1], *self._beyond())
        self.queue_ids = self.queue_ids[len(queue_ids) :]

    def _beyond(self) -> tuple[int, int]:
        return (LOWEST, LOWEST) if self.descending else (HIGHEST, HIGHEST)

    def _take_step(self, queue_ids: list[int], seconds: float) -> list[Any]:
        """What is found in the next so many messages, and the last message of them even if it is not wanted."""
        beginning = (HIGHEST, HIGHEST) if self.descending else (LOWEST, LOWEST)
        places = dict.fromkeys(queue_ids, beginning)
        if self.reached is not None and self.reached.queue_id in places:
            places[self.reached.queue_id] = (self.reached.first, self.reached.second)
        values = {
            **self.wanted.values,
            "queue_id": queue_ids,
            "first": [self.walk.written(first) for first, _ in places.values()],
            "second": [second for _, second in places.values()],
            "step": self._step,
        }
        with bounded_cursor(seconds) as cursor:
            cursor.execute(_statement(self.walk, self.wanted, self.descending), values)
            return cursor.fetchall()


def _statement(walk: Walk, wanted: Wanted, descending: bool) -> str:
    """A queue's messages come in order from the lateral part, and queues in the order of the array: such a join can
    only be a loop. It ends as soon as the step is full, so queues that are not needed are not touched."""
    direction, beyond = ("DESC", "<") if descending else ("ASC", ">")
    place = "(place.second)" if walk.key == "(index)" else "(place.first, place.second)"
    return f"""
        WITH passed AS MATERIALIZED (
            SELECT m.*
            FROM unnest(%(queue_id)s::bigint[], %(first)s::{walk.kind}[], %(second)s::bigint[])
                 AS place (queue_id, first, second)
            CROSS JOIN LATERAL (
                SELECT queue_id, sequence, {walk.first} AS first, {walk.second} AS second, {wanted.hit} AS hit
                FROM delivery_message
                WHERE queue_id = place.queue_id AND {walk.only} AND {wanted.narrowing} AND {walk.key} {beyond} {place}
                ORDER BY {walk.first} {direction}, {walk.second} {direction}
                LIMIT %(step)s
            ) m
            LIMIT %(step)s
        ), numbered AS (
            SELECT *, row_number() OVER () AS number, count(*) OVER () AS total FROM passed
        )
        SELECT queue_id, sequence, first, second, hit, total FROM numbered WHERE hit OR number = total ORDER BY number
    """
