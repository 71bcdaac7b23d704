"""Running one task in a worker: its record says that it runs, and then how it ended."""

import inspect
import logging
import os
import socket
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.utils import timezone
from django.utils.module_loading import import_string
from willow_client import GiveUp, Retry

from willow_django.carried import context_of
from willow_django.conf import willow_settings
from willow_django.models import TaskRecord
from willow_django.soft_limit import async_soft_limit, soft_limit
from willow_django.tasks import result_of
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


class Unknown(GiveUp):
    """There is no record of the task: its row was deleted, or the message is none of ours."""


def begin(job: dict[str, Any]) -> Any:
    """The result of a task that starts now, also in the database."""
    record = TaskRecord.objects.using(willow_settings().database).filter(pk=job.get("task")).first()
    if record is None:
        raise Unknown(f"There is no task {job.get('task')!r} in the database.")
    if record.status == TaskResultStatus.SUCCESSFUL:
        return None
    now = timezone.now()
    record.status = TaskResultStatus.RUNNING
    record.started_at = record.started_at or now
    record.last_attempted_at = now
    record.worker_ids = [*record.worker_ids, WORKER_ID]
    record.save(update_fields=["status", "started_at", "last_attempted_at", "worker_ids"])
    result = result_of(record)
    task_started.send(type(task_backends[record.backend]), task_result=result)
    return result


def succeed(result: Any, value: Any) -> None:
    object.__setattr__(result, "_return_value", normalize_json(value))
    _end(result, TaskResultStatus.SUCCESSFUL, return_value=result._return_value)


def fail(result: Any, error: BaseException) -> None:
    """Raises what tells the broker: `Retry` while there are attempts left, then `GiveUp`."""
    told = {
        "exception_class_path": f"{type(error).__module__}.{type(error).__qualname__}",
        "traceback": "".join(traceback.format_exception(error)),
    }
    result.errors.append(TaskError(**told))
    errors = [{"exception_class_path": e.exception_class_path, "traceback": e.traceback} for e in result.errors]
    attempts = len(result.worker_ids)
    task = result.task
    reason = f"{type(error).__name__}: {error}"
    if attempts <= getattr(task, "retries", 0):
        object.__setattr__(result, "status", TaskResultStatus.READY)
        _save(result, status=TaskResultStatus.READY, errors=errors)
        raise Retry(reason, delay=task.delay_before(attempts)) from error
    _end(result, TaskResultStatus.FAILED, errors=errors)
    raise GiveUp(reason) from error


def _end(result: Any, status: Any, **columns: Any) -> None:
    now = timezone.now()
    object.__setattr__(result, "status", status)
    object.__setattr__(result, "finished_at", now)
    _save(result, status=status, finished_at=now, **columns)
    task_finished.send(type(task_backends[result.backend]), task_result=result)


def _save(result: Any, **columns: Any) -> None:
    TaskRecord.objects.using(willow_settings().database).filter(pk=result.id).update(**columns)


def _arguments(result: Any) -> list[Any]:
    return [TaskContext(task_result=result), *result.args] if result.task.takes_context else list(result.args)


def run_blocking(job: dict[str, Any], seconds: float | None) -> None:
    """In a thread or process of its own."""
    with _connections_closed():
        run_in_this_transaction(job, seconds)


def run_in_this_transaction(job: dict[str, Any], seconds: float | None = None) -> None:
    """On the connections that are open, for tests."""
    with context_of(job.get("context", {})):
        result = begin(job)
        if result is None:
            return
        try:
            with soft_limit(seconds):
                value = result.task.call(*_arguments(result), **result.kwargs)
            succeed(result, value)
        except Exception as error:
            fail(result, error)


async def run_awaited(job: dict[str, Any], seconds: float | None) -> None:
    with context_of(job.get("context", {})):
        result = await in_thread(begin, job)
        if result is None:
            return
        try:
            async with async_soft_limit(seconds):
                value = await result.task.func(*_arguments(result), **result.kwargs)
            await in_thread(succeed, result, value)
        except Exception as error:
            await in_thread(fail, result, error)


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    def call() -> Any:
        with _connections_closed():
            return function(*arguments)

    return await sync_to_async(call, thread_sensitive=False)()


@contextmanager
def _connections_closed() -> Iterator[None]:
    """As around a request: connections that broke or are old are not used again."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


def is_asynchronous(job: dict[str, Any]) -> bool:
    found = import_string(job["path"])
    return inspect.iscoroutinefunction(getattr(found, "func", found))
