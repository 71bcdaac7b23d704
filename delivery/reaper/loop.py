"""The reaper's loop: one active reaper in the whole cluster, doing each duty when it is due."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import psycopg
from django.conf import settings
from psycopg import AsyncConnection

from delivery.moves.endings import endings_without_sessions
from delivery.moves.waiting import COMING_DUE
from delivery.reaper import claims, groups, housekeeping, journal, messages, nodes, redrives, retention, schedules
from delivery.reaper.duty import LIMIT, NAME, Duty, Tools
from delivery.schedules.pulse import Pulse
from delivery.schedules.watch import begin_watch, watch_clock
from delivery.storage.connection import (
    MOST_TRIES,
    SILENCE_SECONDS,
    connect_to_change,
    is_worth_another_try,
    without_values,
)
from delivery.storage.statements import statement
from delivery.wakeups.hints import OPERATOR, Hints

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

RECORD_SECONDS = 5.0  # how often a duty that found nothing to do is written down all the same
ONE_ACTIVE_REAPER = 7_719_455_669  # the advisory lock's number: "willow" on a telephone's keys, and 69
POST_SCHEDULES = "post schedules"
WATCH_SECONDS = 1.0
RETRY_SECONDS = 1.0  # after a failure of a duty that is not due in every round
LOOK_SECONDS = 60.0  # at least, for schedules: the database's clock may have been set

DUTIES = (
    Duty(COMING_DUE, messages.make_delayed_ready),
    Duty("fail expired claims", claims.fail_expired_claims),
    Duty("end overdue holds", claims.end_overdue_holds),
    Duty("hand on requests of lost workers", claims.hand_on_requests_of_lost_workers),
    Duty("bury expired messages", messages.bury_expired_messages),
    Duty("settle touched groups", groups.settle_touched_groups),
    Duty("regroup queues", groups.regroup_queues),
    Duty("redrive dead letters", redrives.redrive_dead_letters, goes_on=False),
    Duty(POST_SCHEDULES, schedules.post_schedules, every=LOOK_SECONDS, goes_on=False, due_in=schedules.next_schedule),
    Duty("watch the clock", schedules.watch_clock, every=WATCH_SECONDS),
    Duty("take over from silent nodes", nodes.take_over_from_silent_nodes),
    Duty("retain streams", retention.retain_streams, every=1),
    Duty("forget transient clients", retention.forget_transient_clients, every=5),
    Duty("forget dedupe texts", housekeeping.forget_dedupe_texts, every=5),
    Duty("forget replies", housekeeping.forget_replies, every=5),
    Duty("forget excess replies", housekeeping.forget_excess_replies, every=60),
    Duty("fold ended counts", housekeeping.fold_ended_counts, every=60),
    Duty("restart idle sequences", housekeeping.restart_idle_sequences, every=30),
    Duty("forget notices", housekeeping.forget_notices, every=60),
    Duty("forget redriven messages", redrives.forget_redriven_messages, every=60),
    Duty("forget session orders", nodes.forget_session_orders, every=60),
    Duty("forget sessions", nodes.forget_sessions, every=60),
    Duty("forget nodes", nodes.forget_nodes, every=60),
    Duty("make journal days", journal.make_journal_days, every=600),
    Duty("drop journal days", journal.drop_journal_days, every=600),
)

JUDGING_BY_HEARTBEATS = ("take over from silent nodes", "hand on requests of lost workers")


class Reaper:
    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._record_due: dict[str, float] = {}
        self.hints = Hints(node_id=OPERATOR, listener=None)
        self._pulse = Pulse()

    async def run(self) -> None:
        beside = [asyncio.create_task(task) for task in (self.hints.publish(), self._pulse.beat())]
        try:
            while True:
                try:
                    await self._work_while_connected()
                except psycopg.Error as error:
                    logger.warning("The reaper lost the database: %s", without_values(error))
                except TimeoutError:
                    logger.error("The database has not answered the reaper for %.0f s.", SILENCE_SECONDS)
                await asyncio.sleep(settings.WILLOW.reaper_seconds)
        finally:
            for task in beside:
                task.cancel()

    async def _work_while_connected(self) -> None:
        # What a crash takes back is still to be done, and is done again. To wait for a slow disk after each duty would
        # keep messages from those who wait for them.
        connection = await connect_to_change(application=f"willow {NAME}", synchronous=False)
        async with connection:
            logger.info("The reaper runs, on the database %s.", connection.info.dbname)
            connection.add_notify_handler(self._schedules_changed)
            await begin_watch(connection)
            while not await _became_active(connection):
                await self._notice_standstill(connection)
                await watch_clock(connection)
                await asyncio.sleep(min(WATCH_SECONDS, settings.WILLOW.reaper_seconds))
            logger.info("The reaper is active: no other does its duties now.")
            # After an outage every heartbeat is old: give the nodes time for a new one before judging them.
            for duty in JUDGING_BY_HEARTBEATS:
                self._due[duty] = time.monotonic() + settings.WILLOW.node_lapse
            self._due.pop(POST_SCHEDULES, None)
            while True:
                await self.run_due(self.tools(connection))
                await asyncio.sleep(self._seconds_to_sleep())

    async def _notice_standstill(self, connection: AsyncConnection[Any]) -> None:
        """Before anything says that a reaper was there, or posts what came due meanwhile as if it were merely late."""
        if self._pulse.stood_still():
            await begin_watch(connection)

    def _seconds_to_sleep(self) -> float:
        """Until the next round, or until a schedule is due if that is sooner."""
        due = self._due.get(POST_SCHEDULES, 0.0) - time.monotonic()
        return max(0.0, min(settings.WILLOW.reaper_seconds, due))

    def _schedules_changed(self, notify: psycopg.Notify) -> None:
        """Read with the answers to the round's statements, so within a round of the change."""
        self._due[POST_SCHEDULES] = 0.0

    def tools(self, connection: AsyncConnection[Any]) -> Tools:
        endings = endings_without_sessions(
            name=NAME, notices_left=self.hints.notices_left, became_ready=self._came_back
        )
        hints = self.hints
        return Tools(connection, endings, hints.messages_ready, hints.notices_left, hints.queue_made)

    def _came_back(self, queue_id: int, delay: float) -> None:
        if delay <= 0:
            self.hints.messages_ready(queue_id, 1)

    async def run_due(self, tools: Tools) -> None:
        for duty in DUTIES:
            if time.monotonic() >= self._due.get(duty.name, 0.0):
                await self._notice_standstill(tools.connection)
                self._due[duty.name] = time.monotonic() + duty.every
                await self._run(duty, tools)

    async def _run(self, duty: Duty, tools: Tools) -> None:
        started = time.monotonic()
        handled, error = 0, ""
        try:
            while True:
                done = await _until_done(tools.connection, partial(duty.run_once, tools, None))
                handled += done
                if done < LIMIT or not duty.goes_on:
                    break
        except psycopg.Error as failure:
            if tools.connection.closed:
                raise
            error = without_values(failure)
            logger.error("Duty %s failed: %s", duty.name, error)
        if duty.due_in is not None:
            await self._wait_for_work(duty, tools, failed=bool(error))
        if handled or error or started >= self._record_due.get(duty.name, 0.0):
            self._record_due[duty.name] = started + RECORD_SECONDS
            await self._record(tools, duty, time.monotonic() - started, handled, error)

    async def _wait_for_work(self, duty: Duty, tools: Tools, *, failed: bool) -> None:
        assert duty.due_in is not None
        self._due[duty.name] = time.monotonic() + duty.every  # what changes from here on sets it back
        seconds = RETRY_SECONDS if failed else await _until_done(tools.connection, partial(duty.due_in, tools))
        if seconds is not None:
            self._due[duty.name] = min(self._due[duty.name], time.monotonic() + max(0.0, seconds))

    async def _record(self, tools: Tools, duty: Duty, seconds: float, handled: int, error: str) -> None:
        parameters = {"duty": duty.name, "seconds": seconds, "handled": handled, "error": error}
        record = partial(tools.connection.execute, statement("record_duty"), parameters)
        await _until_done(tools.connection, record)


async def _until_done(connection: AsyncConnection[Any], work: Callable[[], Awaitable[Result]]) -> Result:
    """Work that met others' locks, or whose statements the server has lost, did nothing: it begins again."""
    for _ in range(MOST_TRIES - 1):
        try:
            return await _answered(work)
        except psycopg.Error as error:
            if connection.closed or not is_worth_another_try(error):
                raise
    return await _answered(work)


async def _answered(work: Callable[[], Awaitable[Result]]) -> Result:
    """A server that neither answers nor keeps the statement timeout is given up."""
    async with asyncio.timeout(SILENCE_SECONDS):
        return await work()


async def _became_active(connection: AsyncConnection[Any]) -> bool:
    row = await (await connection.execute("SELECT pg_try_advisory_lock(%s)", [ONE_ACTIVE_REAPER])).fetchone()
    return bool(row and row[0])
