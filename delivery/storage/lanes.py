"""Coalesced work on one connection: what arrives while a round trip is under way forms the next batch.

There is no timer: an idle lane sends a single request at once, a busy one sends hundreds in one statement.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from typing import Any, Protocol

import psycopg
from psycopg import AsyncConnection

from delivery.protocol.errors import Code, WillowError
from delivery.storage.after_commit import AfterCommit, Step, for_each, guarded
from delivery.storage.connection import (
    MOST_TRIES,
    SILENCE_SECONDS,
    connect_to_change,
    hang_up,
    in_doubt,
    is_lost,
    is_out_of_resources,
    is_worth_another_try,
    too_busy,
    took_too_long,
    unavailable,
    without_values,
)
from delivery.storage.log_ids import command_ids
from delivery.storage.meters import BatchMeter
from delivery.storage.presence import clients_here
from delivery.storage.rehearsals import Probe, Rehearsal, run_probes, run_rehearsals
from delivery.storage.statement_connection import StatementConnection
from delivery.storage.turns import Turns, one

logger = logging.getLogger(__name__)

WATCH_SECONDS = 1.0
RECONNECT_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)
# Fewer requests than this wait for one turn of the event loop: what other sockets hold ready comes along.
SMALL_BATCH = 16
LONG_SECONDS, MOST_REST_SECONDS = 0.002, 0.1  # of a batch after which a lane rests, while others are there
ANY_WEIGHT = 2**62
CONNECTION_LOST, NO_RESOURCES, RACE_LOST, REFUSED = "connection lost", "no resources", "race lost", "refused"
MISTAKE = "mistake"  # of ours
FAILURES = (CONNECTION_LOST, NO_RESOURCES, RACE_LOST, REFUSED, MISTAKE)


class Request(Protocol):
    """One client's request. `synchronous`: its commit must have reached the disk before it is answered.

    `source` and `weight` decide when it is its turn, if not everything fits into one batch (turns.py).
    """

    @property
    def synchronous(self) -> bool: ...

    @property
    def source(self) -> Hashable: ...

    @property
    def weight(self) -> int: ...

    def fail(self, error: WillowError) -> None: ...


# It raises as long as nothing is committed. What follows the commit is for what it returns: there, nothing can fail.
RunBatch = Callable[[StatementConnection, list[Any]], Awaitable[AfterCommit | None]]


class Lane:
    """`runners` says, for each kind of request, what runs a batch of it, in the order in which kinds take turns."""

    def __init__(
        self,
        name: str,
        runners: Mapping[type, RunBatch],
        *,
        batch_size: int,
        batch_weight: int = ANY_WEIGHT,
        messages_in: Callable[[Any], int] = one,
        sends_much: bool = False,
        rests: Collection[type] = (),
        opened: Callable[[], None] = lambda: None,
    ) -> None:
        self._sends_much = sends_much
        self._rests = rests  # after batches of these kinds that took long
        self._opened = opened  # called when a connection was opened, before it is used
        self.name = name
        self.connected = asyncio.Event()
        self._runners: dict[type, RunBatch] = {**runners, Rehearsal: run_rehearsals, Probe: run_probes}
        self.meters = {kind: BatchMeter() for kind in self._runners}
        self.failures = Counter(dict.fromkeys(FAILURES, 0))  # batches that PostgreSQL did not take, by why
        self.connections = 0  # that were opened, the first one included
        self._waiting: Turns[Request] = Turns(batch_size, batch_weight, messages_in)
        self._arrived = asyncio.Event()
        self._untold: deque[Step] = deque()  # answers of batches that are done
        self._synchronous = True
        self._batch_began: float | None = None  # of the monotonic clock, while one is under way
        self._is_too_slow = False  # the storage kept somebody waiting for as long as a statement may take

    @property
    def waiting(self) -> int:
        """Requests that no batch has taken yet."""
        return len(self._waiting)

    def submit(self, request: Request) -> None:
        if not self.connected.is_set():
            request.fail(unavailable())
            return
        self._waiting.add(request)
        self._arrived.set()

    def tell(self) -> None:
        """Give the answers that are still to be given, of batches that are done."""
        while self._untold:
            guarded(self._untold.popleft())

    def probe(self) -> None:
        if self.connected.is_set() and not self._waiting:
            self.submit(Probe())

    async def run(self) -> None:
        """Serve for ever, connecting again whenever the connection is lost."""
        failures = 0
        while True:
            try:
                connection = await connect_to_change(application=f"willow {self.name}")
            except psycopg.Error as error:
                logger.log(
                    logging.DEBUG if failures else logging.WARNING,
                    "%s: no database: %s",
                    self.name,
                    without_values(error),
                )
                await asyncio.sleep(RECONNECT_SECONDS[min(failures, len(RECONNECT_SECONDS) - 1)])
                failures += 1
                continue
            failures = 0
            try:
                await self._serve(connection)
            finally:
                await connection.close()

    async def _serve(self, connection: StatementConnection) -> None:
        self._opened()
        self.connected.set()
        self.connections += 1
        connection.sends_much = self._sends_much
        connection.stirred = self.probe  # the server may have closed it: probe at once
        self._synchronous = True
        watching = asyncio.create_task(self._watch(connection))
        try:
            while not connection.closed:
                await self._arrived.wait()
                if len(self._waiting) < SMALL_BATCH:
                    await asyncio.sleep(0)
                await self._run_next(connection)
        finally:
            watching.cancel()
            self.connected.clear()
            self._refuse_all()

    async def _run_next(self, connection: StatementConnection) -> None:
        """Run what has gathered. What waited behind a statement that took too long has waited long enough itself."""
        self._is_too_slow = False
        for kind, batch in self._next_batches():
            if self._is_too_slow:
                self._fail(batch, unavailable())
            else:
                rests = kind in self._rests and clients_here.is_of_several
                began = time.perf_counter()
                await self._attempt(connection, self._runners[kind], batch)
                if rests:
                    await _rest_after(time.perf_counter() - began)
        if self._is_too_slow:
            self._refuse_all()

    async def _watch(self, connection: StatementConnection) -> None:
        """Give up a server that neither answers nor keeps the statement timeout, so that everybody gets an answer."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if self._batch_began is not None and time.monotonic() - self._batch_began > SILENCE_SECONDS:
                logger.error("%s: the database has not answered for %.0f s", self.name, SILENCE_SECONDS)
                hang_up(connection)

    def _next_batches(self) -> list[tuple[type, list[Request]]]:
        by_kind: dict[type, list[Request]] = {kind: [] for kind in self._runners}
        for request in self._waiting.next_batch():
            by_kind[type(request)].append(request)
        if not self._waiting:
            self._arrived.clear()
        return [(kind, batch) for kind, batch in by_kind.items() if batch]

    async def _attempt(
        self, connection: StatementConnection, run: RunBatch, batch: list[Request], tries: int = 1
    ) -> None:
        """Run a batch. If PostgreSQL refuses it, run its halves, so that a bad request fails alone."""
        if connection.closed:
            self._fail(batch, unavailable())
            return
        began = time.perf_counter()
        self._batch_began = time.monotonic()
        try:
            await self._set_durability(connection, any(request.synchronous for request in batch))
            after = await run(connection, batch)
            self._batch_began = None
        except psycopg.Error as error:
            await self._recover(error, connection, run, batch, tries)
        except Exception:
            logger.exception("%s: a batch of %d failed", self.name, len(batch))
            self.failures[MISTAKE] += 1
            self._fail(
                batch,
                WillowError(Code.UNAVAILABLE, "broker", "The broker could not do this. Please try again."),
            )
        else:
            guarded(self.meters[type(batch[0])].add, len(batch), time.perf_counter() - began)
            if after is not None:
                self._follow(after)

    def _follow(self, after: AfterCommit) -> None:
        for step in after.at_once:
            guarded(step)
        if after.later:
            self._untold.extend(after.later)
            asyncio.get_running_loop().call_soon(self.tell)

    async def _recover(
        self, error: psycopg.Error, connection: StatementConnection, run: RunBatch, batch: list[Request], tries: int
    ) -> None:
        self._batch_began = None
        self._is_too_slow |= took_too_long(error)
        if is_lost(error, connection):
            logger.warning("%s: lost the database: %s", self.name, without_values(error))
            self.failures[CONNECTION_LOST] += 1
            await connection.close()
            self._fail(batch, in_doubt())
        elif is_out_of_resources(error):
            logger.error("%s: PostgreSQL is at its limits: %s", self.name, without_values(error))
            self.failures[NO_RESOURCES] += 1
            self._fail(batch, unavailable())
        elif is_worth_another_try(error):
            self.failures[RACE_LOST] += 1
            if tries < MOST_TRIES:
                await self._attempt(connection, run, batch, tries + 1)
            else:
                logger.error("%s: a batch of %d lost every race: %s", self.name, len(batch), without_values(error))
                self._fail(batch, too_busy())
        elif len(batch) == 1:
            about = command_ids(batch[0])
            logger.error("%s: PostgreSQL refused a request: %s", self.name, without_values(error), extra=about)
            self.failures[REFUSED] += 1
            self._fail(batch, WillowError(Code.BAD_REQUEST, "command", "The storage refused this command."))
        else:
            middle = len(batch) // 2
            await self._attempt(connection, run, batch[:middle])
            await self._attempt(connection, run, batch[middle:])

    async def _set_durability(self, connection: AsyncConnection[Any], synchronous: bool) -> None:
        if synchronous != self._synchronous:
            await connection.execute("SET synchronous_commit = on" if synchronous else "SET synchronous_commit = off")
            self._synchronous = synchronous

    def _refuse_all(self) -> None:
        refused = list(self._waiting)
        self._waiting.clear()
        self._arrived.clear()
        self._fail(refused, unavailable())

    def _fail(self, batch: list[Request], error: WillowError) -> None:
        for_each(lambda request: request.fail(error), batch)


async def _rest_after(seconds: float) -> None:
    """Whoever keeps the storage busy for long leaves it to others for as long."""
    if seconds >= LONG_SECONDS:
        await asyncio.sleep(min(seconds, MOST_REST_SECONDS))


class Job:
    """A single piece of work on a lane's connection, for what happens too seldom to be batched.

    What it writes is flushed: a node remembers queues and sessions by their numbers, and a number that a crash of
    the storage took back would be given out again.
    """

    synchronous = True
    weight = 0

    def __init__(
        self,
        work: Callable[[AsyncConnection[Any]], Awaitable[Any]],
        done: Callable[[Any], None],
        failed: Callable[[WillowError], None],
        source: Hashable = None,
    ) -> None:
        self.source = source
        self.work = work
        self.done = done
        self.fail = failed


async def run_jobs(connection: AsyncConnection[Any], jobs: list[Job]) -> None:
    for job in jobs:
        try:
            result = await job.work(connection)
        except WillowError as error:
            guarded(job.fail, error)
        else:
            guarded(job.done, result)


def job_lane(name: str) -> Lane:
    """A lane for jobs, one after the other."""
    return Lane(name, {Job: run_jobs}, batch_size=1)


async def run_job(
    jobs: Lane, work: Callable[[AsyncConnection[Any]], Awaitable[Any]], *, source: Hashable = None
) -> Any:
    """Run a job on a lane for jobs, and wait for its result. `source`: with whom it takes turns."""
    result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def done(value: Any) -> None:
        if not result.done():
            result.set_result(value)

    def failed(error: WillowError) -> None:
        if not result.done():
            result.set_exception(error)

    jobs.submit(Job(work, done, failed, source))
    return await result
