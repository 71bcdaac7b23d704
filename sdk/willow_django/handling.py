"""A worker's way with one message: its record is found and saved together with others', the task runs in between."""

import asyncio
from typing import Any

from willow_client import GiveUp, Message, Retry

from willow_django.carried import context_of
from willow_django.job import job_of
from willow_django.limits import SoftTimeLimitExceeded, TimeLimitExceeded, limit
from willow_django.places import Places
from willow_django.records import Records
from willow_django.running import Attempt, begin, never_run

# A task that takes longer is seen as running. One that takes less has ended before anybody could have looked.
RUNNING_SECONDS = 0.05


class TaskHandler:
    """Asynchronous tasks run on the loop, all others in `places`: threads or processes."""

    def __init__(
        self, records: Records, places: Places, *, soft_time_limit: float | None, hard_time_limit: float | None
    ) -> None:
        self._records = records
        self._places = places
        self._soft_time_limit = soft_time_limit
        self._hard_time_limit = hard_time_limit

    async def __call__(self, message: Message) -> None:
        job = job_of(message)
        attempt = await self._begin(job, message.attempt)
        if attempt is None:
            return
        if self._places.read_records:
            await self._records.save(attempt.record)
        noted = asyncio.ensure_future(self._note_running(attempt))
        try:
            told = await self._run(attempt, job, message)
        finally:
            if not noted.cancel():
                await noted
        await self._records.save(attempt.record)
        if attempt.has_ended and attempt.somebody_hears_the_end:
            await self._places.in_thread(attempt.tell_finished)
        if told is not None:
            raise told

    async def _begin(self, job: dict[str, Any], number: int) -> Attempt | None:
        record = await self._records.find(job["task"])
        try:
            return begin(record, job, number)
        except GiveUp:
            raise
        except Exception as error:  # its function is gone, or is no task: another attempt would find the same
            assert record is not None
            told = never_run(record, error)
            await self._records.save(record)
            raise told from error

    async def _note_running(self, attempt: Attempt) -> None:
        await asyncio.sleep(RUNNING_SECONDS)
        await self._records.save(attempt.record)

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
