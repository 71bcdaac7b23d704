"""One task: that it runs, what it returned or raised, and what the broker is told. Its record says so, too.

Who runs it saves the record: a worker for many tasks at once (records.py), everybody else for the one.
"""

import asyncio
import json
import logging
import os
import socket
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from inspect import iscoroutinefunction
from typing import Any

from django.db import Error, close_old_connections, connections
from django.utils import timezone
from django.utils.module_loading import import_string
from willow_client import GiveUp, Retry

from willow_django.carried import context_of
from willow_django.limits import soft_limit
from willow_django.models import TaskRecord
from willow_django.records import find_records, save_records
from willow_django.savepoints import transactions_kept_whole
from willow_django.task_queues import MOST_ATTEMPTS
from willow_django.tasks import LOST_ATTEMPTS, result_of
from willow_django.tasks_api import (
    TaskContext,
    TaskError,
    TaskResultStatus,
    normalize_json,
    task_backends,
    task_finished,
    task_started,
)

logger = logging.getLogger("willow_django")

WORKER_ID = f"{socket.gethostname()}-{os.getpid()}"
NO_HEADERS: Mapping[str, str] = {}
RAISED = (Exception, SystemExit, asyncio.CancelledError)  # by a task
TICK = timedelta(microseconds=1)

_is_coroutine_function = cache(iscoroutinefunction)  # which takes longer than a short task


class Unknown(GiveUp):
    """There is no record of the task: its row was deleted, or the message is none of ours."""


class LostTooOften(Exception):
    """Worker after worker was gone before an attempt had ended: perhaps it is the task that ends them."""


class FailedElsewhere(Exception):
    """A task raised in another process."""

    def __init__(self, reason: str, exception_class_path: str, traceback: str) -> None:
        super().__init__(reason)
        self.add_note(traceback)
        self.told = {"exception_class_path": exception_class_path, "traceback": traceback}


def _told(error: BaseException) -> dict[str, str]:
    return {
        "exception_class_path": f"{type(error).__module__}.{type(error).__qualname__}",
        "traceback": _storable("".join(traceback.format_exception(error))),
    }


def _storable(text: str) -> str:
    """PostgreSQL takes no NUL and no half of a character."""
    return text.encode(errors="backslashreplace").decode().replace("\0", "\\x00")


class Attempt:
    """`number`: as the broker counts; without a broker, as the record does. `most`: that its queue allows."""

    def __init__(self, record: TaskRecord, number: int | None = None, most: int = MOST_ATTEMPTS) -> None:
        self.record = record
        self.result: Any = result_of(record)
        self._number = number or len(record.worker_ids)
        self._most = most
        self._raised: BaseException | None = None

    @property
    def follows_lost_ones(self) -> bool:
        """There were attempts that did not end, so this one is to be known before it begins."""
        return self._number - 1 > len(self.record.errors)

    @property
    def is_asynchronous(self) -> bool:
        return _is_coroutine_function(self.result.task.func)

    @property
    def arguments(self) -> list[Any]:
        args = self.result.args
        return [TaskContext(task_result=self.result), *args] if self.result.task.takes_context else list(args)

    def call(self, seconds: float | None) -> Any:
        """Run a blocking task here, or an asynchronous one on a loop of its own."""
        task = self.result.task
        with soft_limit(seconds):
            return (task.call if self.is_asynchronous else task.func)(*self.arguments, **self.result.kwargs)

    def succeed(self, value: Any) -> None:
        normal = normalize_json(value)
        json.dumps(normal)  # a number of thousands of digits has no text: that is this task's error, and no other's
        object.__setattr__(self.result, "_return_value", normal)
        self.record.return_value = normal
        self._end(TaskResultStatus.SUCCESSFUL)

    def fail(self, error: BaseException) -> Retry | GiveUp:
        """What tells the broker: `Retry` while there are attempts left, then `GiveUp`."""
        self._raised = error
        told = error.told if isinstance(error, FailedElsewhere) else _told(error)
        self.result.errors.append(TaskError(**told))
        self.record.errors = [*self.record.errors, told]
        task = self.result.task
        reason = str(error) if isinstance(error, FailedElsewhere) else f"{type(error).__name__}: {error}"
        if self._number <= getattr(task, "retries", 0) and self._number < self._most:
            object.__setattr__(self.result, "status", TaskResultStatus.READY)
            self.record.status = TaskResultStatus.READY
            return Retry(reason, delay=task.delay_before(self._number))
        self._end(TaskResultStatus.FAILED)
        return GiveUp(reason)

    def fail_to_store(self, error: Exception) -> Retry | GiveUp:
        """It ran, but the database does not take what it returned, for example a text with NUL."""
        self.record.return_value = self.record.finished_at = None
        for name in ("_return_value", "finished_at"):
            object.__setattr__(self.result, name, None)
        return self.fail(error)

    def _end(self, status: Any) -> None:
        """The status last, which another thread reads first: it may be about to save that the task runs."""
        self.record.finished_at = timezone.now()
        self.record.status = status
        object.__setattr__(self.result, "status", status)
        object.__setattr__(self.result, "finished_at", self.record.finished_at)

    def give_back(self, was_tried: bool) -> None:
        """`was_tried`: the broker counts this attempt, since it has given the task to somebody else already.

        When it began stays in any case, so that this is said by the latest attempt.
        """
        if not was_tried:
            self.record.worker_ids = self.record.worker_ids[:-1]
        self.record.status = TaskResultStatus.READY

    @property
    def has_ended(self) -> bool:
        return self.record.finished_at is not None

    def tell_started(self) -> None:
        task_started.send(self._sender, task_result=self.result)

    def tell_finished(self) -> None:
        """While what the task raised is being handled: receivers, as those that log it, ask for it by `exc_info()`."""
        if self._raised is None:
            task_finished.send(self._sender, task_result=self.result)
            return
        try:
            raise self._raised
        except BaseException:
            task_finished.send(self._sender, task_result=self.result)

    @property
    def somebody_hears_the_end(self) -> bool:
        return bool(task_finished.receivers)

    @property
    def _sender(self) -> Any:
        """The backend's class: each context has a backend of its own, which would have to be made first."""
        return import_string(task_backends.settings[self.record.backend]["BACKEND"])


def begin(
    record: TaskRecord | None,
    job: Mapping[str, Any],
    number: int | None = None,
    most: int = MOST_ATTEMPTS,
    most_lost: int = LOST_ATTEMPTS,
) -> Attempt | None:
    """None if it has succeeded before: then only the broker did not hear of it.

    Raises `GiveUp` if it has failed for good before. What is put back from the dead letters begins with attempt 1.
    """
    if record is None:
        raise Unknown(f"There is no task {job.get('task')!r} in the database.")
    if record.status == TaskResultStatus.SUCCESSFUL:
        return None
    if record.status == TaskResultStatus.FAILED and number is not None and number > 1:
        raise GiveUp(f"It had failed before, and the broker did not hear of it: {_last_error(record)}")
    lost = _lost_attempts(record, number)
    if lost > most_lost:
        raise LostTooOften(f"{lost} attempts did not end, as if the task had ended its workers.")
    now = timezone.now()
    if record.last_attempted_at is not None:
        now = max(now, record.last_attempted_at + TICK)  # whatever the clock of another worker said
    record.status = TaskResultStatus.RUNNING
    record.started_at = record.started_at or now
    record.last_attempted_at = now
    record.finished_at = None  # one that failed may have been put back from the dead letters
    record.worker_ids = [*record.worker_ids, WORKER_ID]
    return Attempt(record, number, most)


def _last_error(record: TaskRecord) -> str:
    """As the last line of its traceback says it."""
    told = record.errors[-1]["traceback"].strip() if record.errors else ""
    return told.splitlines()[-1] if told else "its record does not say why"


def is_put_back(record: TaskRecord, number: int) -> bool:
    """From the dead letters: for the broker, its attempts begin anew."""
    return record.status == TaskResultStatus.FAILED and number == 1


def waits_again(record: TaskRecord) -> None:
    record.status, record.finished_at = TaskResultStatus.READY, None


def _lost_attempts(record: TaskRecord, number: int | None) -> int:
    """Those that began and did not end. The broker does not count what was given back, and the record does not count
    what only waited in a worker that died.
    """
    begun = len(record.worker_ids)
    return (begun if number is None else min(begun, number - 1)) - len(record.errors)


def never_run(record: TaskRecord, error: Exception) -> GiveUp:
    """The record says why its task cannot even begin."""
    record.errors = [*record.errors, _told(error)]
    record.status, record.finished_at = TaskResultStatus.FAILED, timezone.now()
    return GiveUp(f"{type(error).__name__}: {error}")


def run_and_tell(job: dict[str, Any], seconds: float | None, number: int, headers: Mapping[str, str]) -> dict[str, Any]:
    """In a process of its own, for a worker that has begun the attempt and keeps its record."""
    with connections_closed(f"the task {job['task']}"):
        try:
            [record] = find_records([job["task"]])
        except Error as error:
            return {"database_error": str(error)}
        if record is None:
            raise Unknown(f"There is no task {job['task']!r} in the database.")
        attempt = Attempt(record, number)
        try:
            with context_of(job, record.backend, headers):
                attempt.tell_started()
                return {"value": normalize_json(attempt.call(seconds))}
        except RAISED as error:
            return {"error": {"reason": f"{type(error).__name__}: {error}", **_told(error)}}


def run_in_this_transaction(job: dict[str, Any], headers: Mapping[str, str] = NO_HEADERS) -> None:
    """On the connections that are open, for tests."""
    attempt = begin(find_records([job["task"]])[0], job)
    if attempt is None:
        return
    save_records([attempt.record])
    with context_of(job, attempt.record.backend, headers):
        attempt.tell_started()
        told: Retry | GiveUp | None = None
        try:
            with transactions_kept_whole():
                attempt.succeed(attempt.call(None))
        except RAISED as error:
            told = attempt.fail(error)
            told.__cause__ = error
        save_records([attempt.record])
        if attempt.has_ended:
            attempt.tell_finished()
    if told is not None:
        raise told


@contextmanager
def connections_closed(who: str) -> Iterator[None]:
    """As around a request: connections that broke or are old are not used again. `who` uses them, for the log."""
    close_old_connections()
    try:
        yield
    finally:
        end_open_transactions(who)
        close_old_connections()


def end_open_transactions(who: str) -> None:
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            logger.warning("A transaction that %s has left open is rolled back", who)
            try:
                connection.close()
            finally:
                del connections[connection.alias]  # Django would keep it, closed, for whatever this thread does next
        elif connection.connection is not None and not connection.autocommit:
            connection.close()  # where the project commits by itself: each has a transaction
