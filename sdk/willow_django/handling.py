"""A worker's way with one message: its record is found and saved together with others', the task runs in between."""

import asyncio
import logging
from collections.abc import Sequence
from contextvars import Context, copy_context
from typing import Any, TypeAlias

from django.db import Error
from willow_client import GiveBack, GiveUp, Message, Retry
from willow_client.timetable import Timetable

from willow_django.batches import Batches
from willow_django.carried import context_of
from willow_django.job import job_of
from willow_django.models import TaskRecord
from willow_django.on_the_loop import OnTheLoop
from willow_django.places import Places
from willow_django.running import RAISED, Attempt, begin, is_put_back, never_run, waits_again
from willow_django.turns import Turns
from willow_django.worker_records import Records

logger = logging.getLogger("willow_django")

# A task that takes longer is seen as running. One that takes less has ended before anybody could have looked.
RUNNING_SECONDS = 0.05
RECEIVERS_SECONDS = 10.0  # that receivers of task_finished have


End: TypeAlias = tuple[Attempt, Context]


def tell_finished(ends: Sequence[End]) -> None:
    """That a receiver fails does not undo the task."""
    for attempt, context in ends:
        try:
            context.run(attempt.tell_finished)
        except Exception:
            logger.exception("A receiver of task_finished failed")


async def told_in_time(ends: Sequence[End], places: Places) -> list[None]:
    """A receiver that hangs goes on in its thread, and keeps no other task from ending."""
    try:
        async with asyncio.timeout(RECEIVERS_SECONDS):
            await places.in_thread(lambda: tell_finished(ends))
    except TimeoutError:
        logger.warning(
            "Receivers of task_finished take more than %g seconds: tasks end without them", RECEIVERS_SECONDS
        )
    return [None] * len(ends)


class TaskHandler:
    """Of one queue. Asynchronous tasks run on the loop, all others in `places`: threads or processes.

    Only the task itself has a turn: while the record of one is found, or written, others run.
    """

    def __init__(
        self,
        records: Records,
        places: Places,
        on_the_loop: OnTheLoop,
        turns: Turns,
        *,
        most_attempts: int,
        most_lost: int,
    ) -> None:
        self._records = records
        self._places = places
        self._on_the_loop = on_the_loop
        self._turns = turns
        self._most_attempts = most_attempts
        self._most_lost = most_lost
        self._ends: Batches[End, None] = Batches(lambda ends: asyncio.ensure_future(told_in_time(ends, places)))
        self._running: Timetable[Attempt] = Timetable(asyncio.get_running_loop(), self._note)
        self._notes: set[asyncio.Future[None]] = set()  # that a task runs, on their way

    async def __call__(self, message: Message) -> None:
        job = job_of(message)
        record = await self._records.find(job["task"])
        if record is not None and is_put_back(record, message.attempt):
            waits_again(record)  # known before it runs: if this worker dies, the next one finds no end of it
            await self._records.save_before(record)
        await self._turns.take()
        try:
            attempt = await self._begin(record, job, message.attempt)
            if attempt is None:
                return
            told = await self._run_or_give_back(attempt, job, message)
        finally:
            self._turns.end()
        message.settling()
        told = await self._stored(attempt) or told
        if attempt.has_ended and attempt.somebody_hears_the_end:
            await self._tell_finished(attempt)
        if told is not None:
            raise told

    async def _tell_finished(self, attempt: Attempt) -> None:
        """Its end is stored. That the worker stops meanwhile is no reason to keep it from the broker."""
        try:
            await self._ends.ask((attempt, copy_context()))
        except asyncio.CancelledError:
            logger.warning("The task %s ends without all receivers of task_finished", attempt.record.pk)

    async def _stored(self, attempt: Attempt) -> Retry | GiveUp | None:
        """What to tell the broker if the task did all right, but what it returned cannot be kept."""
        try:
            await self._records.save(attempt.record)
        except Error as error:
            told = attempt.fail_to_store(error)
            told.__cause__ = error
            await self._records.save(attempt.record)
            return told
        return None

    async def _begin(self, record: TaskRecord | None, job: dict[str, Any], number: int) -> Attempt | None:
        try:
            return begin(record, job, number, self._most_attempts, self._most_lost)
        except GiveUp:
            raise
        except Exception as error:  # its function is gone, or is no task: another attempt would find the same
            assert record is not None
            told = never_run(record, error)
            await self._records.save(record)
            raise told from error

    async def _run_or_give_back(self, attempt: Attempt, job: dict[str, Any], message: Message) -> Retry | GiveUp | None:
        try:
            if self._places.read_records or attempt.follows_lost_ones:
                await self._records.save_before(attempt.record)
            return await self._run_and_note(attempt, job, message)
        except (asyncio.CancelledError, GiveBack):
            attempt.give_back(was_tried=not message.is_held)
            await self._records.note(attempt.record)
            raise

    async def _run_and_note(self, attempt: Attempt, job: dict[str, Any], message: Message) -> Retry | GiveUp | None:
        """The record says that it runs, if it takes its time: most tasks are over before."""
        self._running.put(RUNNING_SECONDS, attempt)
        try:
            return await self._run(attempt, job, message)
        finally:
            self._running.take_out(RUNNING_SECONDS, attempt)

    def _note(self, attempt: Attempt) -> None:
        """Records are saved in the order in which that is asked for: its end comes after this."""
        note = asyncio.ensure_future(self._records.note(attempt.record))
        self._notes.add(note)
        note.add_done_callback(self._notes.discard)

    async def _run(self, attempt: Attempt, job: dict[str, Any], message: Message) -> Retry | GiveUp | None:
        try:
            attempt.succeed(await self._value(attempt, job, message))
        except RAISED as error:  # a task that leaves has failed; the worker stays
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            told = attempt.fail(error)
            told.__cause__ = error
            return told
        return None

    async def _value(self, attempt: Attempt, job: dict[str, Any], message: Message) -> Any:
        with context_of(job, attempt.record.backend, message.headers):
            if attempt.is_asynchronous:
                return await self._on_the_loop.run(attempt)
            return await self._places.run(attempt, message)


def _is_cancelled() -> bool:
    """From outside: not if a task raised it, or awaited what was cancelled."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0
