"""Where blocking tasks run: in threads, or in processes, which can be ended."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from willow_client import Message
from willow_client.processes import InProcess

from willow_django.in_process import RunTask
from willow_django.limits import TimeLimitExceeded, limit
from willow_django.patience import pauses
from willow_django.running import Attempt, FailedElsewhere, connections_closed
from willow_django.task_threads import TaskThreads

logger = logging.getLogger("willow_django")


class Places(Protocol):
    read_records: bool  # the task runs where only the database tells of the attempt

    async def run(self, attempt: Attempt, message: Message) -> Any:
        """What the task returned. Raises what it raised."""

    async def in_thread(self, function: Callable[[], Any]) -> Any:
        """For code of the project that may use its database."""

    @property
    def given_up(self) -> int:
        """Blocking calls that go on, though nobody waits for them any longer."""

    def close(self) -> None: ...


class Threads:
    """A task that is given up goes on in its thread: nothing in Python can end it."""

    read_records = False

    def __init__(self, soft_time_limit: float | None, hard_time_limit: float | None) -> None:
        self._soft_time_limit = soft_time_limit
        self._hard_time_limit = hard_time_limit
        self._threads = TaskThreads("willow task")

    async def run(self, attempt: Attempt, message: Message) -> Any:
        def call() -> Any:
            with connections_closed(f"the task {attempt.record.pk}"):
                attempt.tell_started()
                return attempt.call(self._soft_time_limit)

        if self._hard_time_limit is None:
            return await self._threads.run(call)
        async with limit(self._hard_time_limit, TimeLimitExceeded):
            return await self._threads.run(call)

    async def in_thread(self, function: Callable[[], Any]) -> Any:
        def call() -> Any:
            with connections_closed("a receiver of a signal"):
                return function()

        return await self._threads.run(call)

    @property
    def given_up(self) -> int:
        return self._threads.given_up

    def close(self) -> None:
        self._threads.close()


class Processes:
    """Started when they are first needed, and again after one was ended or died."""

    read_records = True

    def __init__(self, soft_time_limit: float | None, hard_time_limit: float | None) -> None:
        self._threads = Threads(None, None)  # for what is not the task itself
        self._soft_time_limit = soft_time_limit
        self._hard_time_limit = hard_time_limit
        self._idle: list[InProcess] = []

    async def run(self, attempt: Attempt, message: Message) -> Any:
        waits = pauses()
        while "database_error" in (ended := await self._run(message)):
            logger.warning("A task waits for the database: %s", ended["database_error"])
            await asyncio.sleep(next(waits))
        if "error" in ended:
            raise FailedElsewhere(**ended["error"])
        return ended["value"]

    async def _run(self, message: Message) -> Any:
        process = self._idle.pop() if self._idle else InProcess(RunTask(self._soft_time_limit), "willow task")
        try:
            await process.prepare()  # to start it takes time that is not the task's
            async with limit(self._hard_time_limit, TimeLimitExceeded):
                return await process.run(message)
        finally:
            self._idle.append(process)

    async def in_thread(self, function: Callable[[], Any]) -> Any:
        return await self._threads.in_thread(function)

    @property
    def given_up(self) -> int:
        return self._threads.given_up

    def close(self) -> None:
        for process in self._idle:
            process.close()
        self._threads.close()
