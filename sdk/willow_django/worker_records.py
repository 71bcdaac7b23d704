"""The records of a worker's tasks. While the database is away, tasks wait: their claims are kept alive."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from django.db import Error
from willow_client import GiveBack

from willow_django.batches import Batches
from willow_django.models import TaskRecord
from willow_django.patience import pauses
from willow_django.records import connected, find_records, is_of_the_record, save_each
from willow_django.task_threads import TaskThreads

logger = logging.getLogger("willow_django")


class Records:
    """In two threads: what is to be found does not wait until others are flushed to disk."""

    def __init__(self) -> None:
        self._finder = TaskThreads("willow finds records")
        self._saver = TaskThreads("willow saves records")
        self._finding: Batches[str, TaskRecord | None] = Batches(_asking(_find_all, self._finder))
        self._saving: Batches[TaskRecord, None] = Batches(_asking(save_each, self._saver))
        self._is_stopping = asyncio.Event()

    async def find(self, id: str) -> TaskRecord | None:
        """Raises `GiveBack` if the worker stops while the database is away."""
        return await _answered(self._finding, id, self._pause_unless_stopping)

    async def save_before(self, record: TaskRecord) -> None:
        """Of a task that is about to run. Raises `GiveBack` as `find` does."""
        await _answered(self._saving, record, self._pause_unless_stopping)

    async def save(self, record: TaskRecord) -> None:
        """Of a task that has run, for as long as it takes. Raises what the database has against this very record."""
        await _answered(self._saving, record, asyncio.sleep)

    async def note(self, record: TaskRecord) -> None:
        """If that is not possible now, nothing is lost: its end will be saved."""
        try:
            await self._saving.ask(record)
        except Exception as error:
            logger.warning("That the task %s runs could not be noted: %s", record.pk, error)

    def stop(self) -> None:
        """What waits for the database, and has not run, is given back."""
        self._is_stopping.set()

    def close(self) -> None:
        """The threads end with their connections, but nobody waits for that: the database may not answer."""
        self._finder.close()
        self._saver.close()

    async def _pause_unless_stopping(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._is_stopping.wait()
        except TimeoutError:
            return
        raise GiveBack


async def _answered(batches: Batches[Any, Any], question: Any, pause: Callable[[float], Awaitable[None]]) -> Any:
    waits = pauses()
    while True:
        try:
            return await batches.ask(question)
        except Error as error:
            if is_of_the_record(error):
                raise
        await pause(next(waits))


def _find_all(ids: Sequence[str]) -> list[TaskRecord | None]:
    found: list[TaskRecord | None] = connected(find_records, ids)
    return found


def _asking(ask: Callable[[Any], Any], threads: TaskThreads) -> Callable[[Any], "asyncio.Future[Any]"]:
    async def asked(questions: Sequence[Any]) -> Sequence[Any]:
        try:
            answers = await threads.run(lambda: ask(questions))
        except Error as error:
            answers = [error] * len(questions)
        _log_who_waits(answers)
        return answers

    return lambda questions: asyncio.ensure_future(asked(questions))


def _log_who_waits(answers: Sequence[Any]) -> None:
    """Once for all of them."""
    away = [answer for answer in answers if isinstance(answer, Error) and not is_of_the_record(answer)]
    if away:
        logger.warning("%d tasks wait for the database: %s", len(away), away[0])
