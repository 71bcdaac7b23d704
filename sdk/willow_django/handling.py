"""A worker's way with one message: its record is found and saved together with others', the task runs in between."""

import asyncio
import logging
from collections.abc import Sequence
from contextvars import Context, copy_context
from typing import Any, TypeAlias

from django.db import Error, InterfaceError, OperationalError
from willow_client import GiveUp, Message, Retry
from willow_client.timetable import Timetable

from willow_django.batches import Batches
from willow_django.carried import context_of
from willow_django.job import job_of
from willow_django.limits import SoftTimeLimitExceeded, TimeLimitExceeded, limit
from willow_django.models import TaskRecord
from willow_django.places import Places
from willow_django.records import Records
from willow_django.running import Attempt, begin, never_run
from willow_django.turns import Turns

logger = logging.getLogger("willow_django")

# A task that takes longer is seen as running. One that takes less has ended before anybody could have looked.
RUNNING_SECONDS = 0.05


End: TypeAlias = tuple[Attempt, Context]


def tell_finished(ends: Sequence[End]) -> list[None]:
    """That a receiver fails does not undo the task."""
    for attempt, context in ends:
        try:
            context.run(attempt.tell_finished)
        except Exception:
            logger.exception("A receiver of task_finished failed")
    return [None] * len(ends)


class TaskHandler:
    """Of one queue. Asynchronous tasks run on the loop, all others in `places`: threads or processes.

    Only the task itself has a turn: while the record of one is found, or written, others run.
    """

    def __init__(
        self,
        records: Records,
        places: Places,
        turns: Turns,
        *,
        most_attempts: int,
        soft_time_limit: float | None,
        hard_time_limit: float | None,
    ) -> None:
        self._records = records
        self._places = places
        self._turns = turns
        self._most_attempts = most_attempts
        self._ends: Batches[End, None] = Batches(
            lambda ends: asyncio.ensure_future(places.in_thread(lambda: tell_finished(ends)))
        )
        self._running: Timetable[Attempt] = Timetable(asyncio.get_running_loop(), self._note)
        self._noted: dict[Attempt, asyncio.Future[None]] = {}  # as running
        self._soft_time_limit = soft_time_limit
        self._hard_time_limit = hard_time_limit

    async def __call__(self, message: Message) -> None:
        job = job_of(message)
        record = await self._records.find(job["task"])
        await self._turns.take()
        try:
            attempt = await self._begin(record, job, message.attempt)
            if attempt is None:
                return
            if self._places.read_records:
                await self._records.save(attempt.record)
            told = await self._run_and_note(attempt, job, message)
        finally:
            self._turns.end()
        told = await self._stored(attempt) or told
        if attempt.has_ended and attempt.somebody_hears_the_end:
            await self._ends.ask((attempt, copy_context()))
        if told is not None:
            raise told

    async def _stored(self, attempt: Attempt) -> Retry | GiveUp | None:
        """What to tell the broker if the task did all right, but what it returned cannot be kept."""
        try:
            await self._records.save(attempt.record)
        except (OperationalError, InterfaceError):
            raise  # the database is away, whatever was returned
        except Error as error:
            told = attempt.fail_to_store(error)
            told.__cause__ = error
            await self._records.save(attempt.record)
            return told
        return None

    async def _begin(self, record: TaskRecord | None, job: dict[str, Any], number: int) -> Attempt | None:
        try:
            return begin(record, job, number, self._most_attempts)
        except GiveUp:
            raise
        except Exception as error:  # its function is gone, or is no task: another attempt would find the same
            assert record is not None
            told = never_run(record, error)
            await self._records.save(record)
            raise told from error

    async def _run_and_note(self, attempt: Attempt, job: dict[str, Any], message: Message) -> Retry | GiveUp | None:
        """The record says that it runs, if it takes its time: most tasks are over before."""
        self._running.put(RUNNING_SECONDS, attempt)
        try:
            return await self._run(attempt, job, message)
        finally:
            self._running.take_out(RUNNING_SECONDS, attempt)
            noted = self._noted.pop(attempt, None)
            if noted is not None:
                await noted

    def _note(self, attempt: Attempt) -> None:
        self._noted[attempt] = asyncio.ensure_future(self._records.save(attempt.record))

    async def _run(self, attempt: Attempt, job: dict[str, Any], message: Message) -> Retry | GiveUp | None:
        try:
            attempt.succeed(await self._value(attempt, job, message))
        except (Exception, SystemExit) as error:  # a task that leaves has failed; the worker stays
            told = attempt.fail(error)
            told.__cause__ = error
            return told
        return None

    async def _value(self, attempt: Attempt, job: dict[str, Any], message: Message) -> Any:
        with context_of(job.get("context", {}), message.headers):
            if not attempt.is_asynchronous:
                return await self._places.run(attempt, message)
            await self._places.in_thread(attempt.tell_started)
            hard = limit(self._hard_time_limit, TimeLimitExceeded)
            soft = limit(self._soft_time_limit, SoftTimeLimitExceeded)
            async with hard, soft:
                return await attempt.result.task.func(*attempt.arguments, **attempt.result.kwargs)
