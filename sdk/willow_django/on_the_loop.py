"""Asynchronous tasks, on the worker's event loop."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias

from asgiref.sync import SyncToAsync, ThreadSensitiveContext
from django.db import connections

from willow_django.limits import SoftTimeLimitExceeded, TimeLimitExceeded, limit, passed
from willow_django.places import Places
from willow_django.running import Attempt, connections_closed, end_open_transactions

logger = logging.getLogger("willow_django")

CLOSING_SECONDS = 1.0  # that threads have at the end
CANCELLED_SECONDS = 1.0  # that a task has at the hard limit

Ending: TypeAlias = tuple[Any, SystemExit | None]  # what a task returned, or that it wants to leave


class LoopThreads(ThreadPoolExecutor):
    """For `asyncio.to_thread`. What is at work in them is known, since Python does not end before it."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="willow loop")
        self.at_work: set[Future[Any]] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(_with_connections_closed, fn, *args, **kwargs)
        self.count(future)
        return future

    def count(self, future: Future[Any]) -> None:
        self.at_work.add(future)
        future.add_done_callback(self.at_work.discard)


def _with_connections_closed(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    with connections_closed("an asynchronous task"):
        return function(*args, **kwargs)


def _close_connections(who: str) -> None:
    """This thread's. Nobody waits for it."""
    try:
        end_open_transactions(who)
        connections.close_all()
    except Exception:
        logger.exception("The connections of an asynchronous task could not be closed")


class OnTheLoop:
    """Each in an asyncio task of its own: what one does to its context, or to `current_task()`, no other one sees."""

    def __init__(self, places: Places, soft_time_limit: float | None, hard_time_limit: float | None) -> None:
        self._places = places
        self._soft_time_limit = soft_time_limit
        self._hard_time_limit = hard_time_limit
        self._threads = LoopThreads()
        self._left: set[asyncio.Task[Any]] = set()  # tasks that did not end at the hard limit
        asyncio.get_running_loop().set_default_executor(self._threads)

    async def run(self, attempt: Attempt) -> Any:
        """What the task returned. Raises what it raised."""
        ending = self._ending(attempt)
        value, left_with = await (ending if self._hard_time_limit is None else self._ended_or_left(ending))
        if left_with is not None:
            raise left_with
        return value

    async def close(self) -> int:
        """How many threads, and tasks that were left, are at work a moment later. Nothing can end them."""
        for task in self._left:
            task.cancel()
        if at_work := {*map(asyncio.wrap_future, self._threads.at_work.copy()), *self._left}:
            ended, _ = await asyncio.wait(at_work, timeout=CLOSING_SECONDS)
            await asyncio.gather(*ended, return_exceptions=True)
        return len(self._threads.at_work) + len(self._left)

    async def _ended_or_left(self, ending: Coroutine[Any, Any, Ending]) -> Ending:
        """At the hard limit it is cancelled, and left if it takes no notice."""
        task = asyncio.create_task(ending)
        try:
            await asyncio.wait({task}, timeout=self._hard_time_limit)
        except asyncio.CancelledError:  # the worker stops, or has lost the message
            task.cancel()
        else:
            if not task.done():
                self._left.add(task)
                task.add_done_callback(self._left.discard)
                task.cancel()
                await asyncio.wait({task}, timeout=CANCELLED_SECONDS)
                raise TimeLimitExceeded(passed(self._hard_time_limit))
        return await task

    async def _ending(self, attempt: Attempt) -> Ending:
        await self._places.in_thread(attempt.tell_started)
        async with limit(self._soft_time_limit, SoftTimeLimitExceeded):
            return await asyncio.create_task(self._awaited(attempt))

    async def _awaited(self, attempt: Attempt) -> Ending:
        """What it returned, or that it wants to leave: raised in a task of asyncio's, that would end the loop."""
        try:
            with self._thread_of_its_own(f"the task {attempt.record.pk}"):
                return await attempt.result.task.func(*attempt.arguments, **attempt.result.kwargs), None
        except SystemExit as error:
            return None, error

    @contextmanager
    def _thread_of_its_own(self, who: str) -> Iterator[None]:
        """As Django's requests have it: what the task does with the database happens in one thread, if it does
        anything, and the thread's connections end with the task.

        asgiref itself would wait for the thread, and the loop with it. What runs there may take long.
        """
        context = ThreadSensitiveContext()
        token = SyncToAsync.thread_sensitive_context.set(context)
        try:
            yield
        finally:
            SyncToAsync.thread_sensitive_context.reset(token)
            executor = SyncToAsync.context_to_thread_executor.pop(context, None)
            if executor is not None:
                self._threads.count(executor.submit(_close_connections, who))
                executor.shutdown(wait=False)
