"""A backend for Django's tasks on Willow.

    TASKS = {"default": {"BACKEND": "willow_django.tasks.WillowBackend", "QUEUES": ["default", "emails"]}}

A task is a message of the queue `tasks.<queue name>`, and a row of the project's database that says what became of it.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.module_loading import import_string
from willow_client.arguments import LARGEST_SECONDS

from willow_django.carried import carried_context, trace_headers
from willow_django.conf import willow_settings
from willow_django.connections import blocking_client
from willow_django.models import TaskRecord
from willow_django.posting import outbox_now, post
from willow_django.task_queues import MOST_ATTEMPTS, make_once
from willow_django.tasks_api import (
    DEFAULT_TASK_PRIORITY,
    DEFAULT_TASK_QUEUE_NAME,
    BaseTaskBackend,
    InvalidTask,
    Task,
    TaskError,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    normalize_json,
    task_enqueued,
)

PREFIX = "tasks."  # of the names of queues, unless the backend's option PREFIX says otherwise
MIDDLE_PRIORITY = 100  # of messages: tasks go from -100 to 100
ID_LENGTH = 32
LOST_ATTEMPTS = 5  # that may not end before a task has failed, unless the backend's option LOST_ATTEMPTS says otherwise

MOST_OF_RETRYING = {
    "retry_delay": LARGEST_SECONDS,
    "retry_backoff": sys.float_info.max,
    "retry_delay_max": LARGEST_SECONDS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WillowTask(Task):
    """A task that also says how it is tried again, and what it must not run beside."""

    priority: int = DEFAULT_TASK_PRIORITY  # these three have no defaults in Django 6.0
    queue_name: str = DEFAULT_TASK_QUEUE_NAME
    run_after: datetime | None = None
    retries: int = 0  # attempts after the first one
    retry_delay: float = 0.0  # seconds before the second attempt
    retry_backoff: float = 2.0  # the factor by which that grows with each further attempt
    retry_delay_max: float = 3600.0  # seconds that it never exceeds
    unique: str | Callable[..., str] | None = None  # a text, or what makes one of the arguments
    group: str | Callable[..., str] | None = None

    def delay_before(self, attempt: int) -> float:
        """Seconds between the failure of an attempt, from 1, and the next."""
        try:
            return min(self.retry_delay * self.retry_backoff ** (attempt - 1), self.retry_delay_max)
        except OverflowError:
            return self.retry_delay_max


def task(function: Callable[..., Any] | None = None, *, backend: str = "default", **how: Any) -> Any:
    """Django's decorator, with the arguments of `WillowTask`."""

    def wrapped(func: Callable[..., Any]) -> Any:
        return WillowTask(func=func, backend=backend, **how)

    return wrapped if function is None else wrapped(function)


class WillowBackend(BaseTaskBackend):
    task_class = WillowTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.prefix: str = self.options.get("PREFIX", PREFIX)
        self.context_variables: list[str] = list(self.options.get("CONTEXT", ()))
        self.group_in_flight: int | None = self.options.get("GROUP_IN_FLIGHT")
        self.lost_attempts: int = self.options.get("LOST_ATTEMPTS", LOST_ATTEMPTS)

    def queue_of(self, queue_name: str) -> str:
        return f"{self.prefix}{queue_name}"

    def validate_task(self, task: Any) -> None:
        super().validate_task(task)
        retries = getattr(task, "retries", 0)
        if not isinstance(retries, int) or not 0 <= retries < MOST_ATTEMPTS:
            raise InvalidTask(f"retries must be a whole number from 0 to {MOST_ATTEMPTS - 1}, not {retries!r}.")
        for name, most in MOST_OF_RETRYING.items():
            number = getattr(task, name, 0)
            if not isinstance(number, int | float) or not 0 <= number <= most:
                raise InvalidTask(f"{name} must be a number from 0 to {most:g}, not {number!r}.")

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Within a transaction, the record and the message both come with its commit."""
        self.validate_task(task)
        now = timezone.now()
        given: Any = normalize_json({"args": list(args), "kwargs": dict(kwargs)})
        result: Any = TaskResult(
            task=task,
            id=get_random_string(ID_LENGTH),
            status=TaskResultStatus.READY,
            enqueued_at=now,
            started_at=None,
            last_attempted_at=None,
            finished_at=None,
            args=given["args"],
            kwargs=given["kwargs"],
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )
        self._store(_record_of(result, task, now), _how(task, result))
        task_enqueued.send(type(self), task_result=result)
        return result

    def _store(self, record: TaskRecord, how: Any) -> None:
        """First the record: a worker may have the message before `post` returns."""
        database, queue = willow_settings().database, self.queue_of(record.queue_name)
        outbox = outbox_now()
        if outbox != "own":  # otherwise, the relay does it
            make_once(blocking_client(), self, queue, tries_again=outbox is None)
        record.save(using=database, force_insert=True)
        try:
            post(queue, _body(self, record), **how)
        except Exception:  # also of the database, which refuses for the broker
            record.delete(using=database)
            raise

    def get_result(self, result_id: str) -> Any:
        record = TaskRecord.objects.using(willow_settings().database).filter(pk=result_id).first()
        if record is None:
            raise TaskResultDoesNotExist(result_id)
        return result_of(record)


def _record_of(result: Any, task: Any, now: datetime) -> TaskRecord:
    return TaskRecord(
        id=result.id,
        path=task.module_path,
        backend=task.backend,
        queue_name=task.queue_name,
        priority=task.priority,
        run_after=task.run_after,
        arguments={"args": result.args, "kwargs": result.kwargs},
        status=TaskResultStatus.READY,
        enqueued_at=now,
    )


def _body(backend: WillowBackend, record: TaskRecord) -> dict[str, Any]:
    body: dict[str, Any] = {"task": record.id, "path": record.path, **record.arguments}
    if carried := carried_context(backend.context_variables):
        body["context"] = carried
    return body


def _how(task: Any, result: Any) -> Any:
    how: dict[str, Any] = {"priority": MIDDLE_PRIORITY + task.priority}
    if headers := trace_headers():
        how["headers"] = headers
    if task.run_after is not None:
        after = task.run_after if timezone.is_aware(task.run_after) else timezone.make_aware(task.run_after)
        how["delay"] = max(0.0, (after - datetime.now(UTC)).total_seconds())  # without USE_TZ, Django's own has no zone
    for name in ("unique", "group"):
        text = getattr(task, name, None)
        if text is not None:
            how[name] = text(*result.args, **result.kwargs) if callable(text) else text
    return how


def task_at(path: str, record: TaskRecord) -> Any:
    """The task of a record, as it was enqueued. Whoever can write records must not be able to call any function."""
    found = import_string(path)
    if not isinstance(found, Task):
        raise SuspiciousOperation(f"{path} is no task.")
    as_enqueued: dict[str, Any] = {
        "priority": record.priority,
        "queue_name": record.queue_name,
        "run_after": record.run_after,
        "backend": record.backend,
    }
    if all(getattr(found, name) == value for name, value in as_enqueued.items()):
        return found  # to make another one looks at the function's signature, which takes long
    return found.using(**as_enqueued)


def result_of(record: TaskRecord) -> Any:
    result: Any = TaskResult(
        task=task_at(record.path, record),
        id=record.id,
        status=TaskResultStatus[record.status],
        enqueued_at=record.enqueued_at,
        started_at=record.started_at,
        last_attempted_at=record.last_attempted_at,
        finished_at=record.finished_at,
        args=record.arguments["args"],
        kwargs=record.arguments["kwargs"],
        backend=record.backend,
        errors=[TaskError(**error) for error in record.errors],
        worker_ids=record.worker_ids,
    )
    object.__setattr__(result, "_return_value", record.return_value)
    return result
