"""Tasks of the project."""

import asyncio
import os
import signal
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection, transaction
from django.utils import timezone
from willow_django import carried, post
from willow_django.limits import SoftTimeLimitExceeded
from willow_django.models import TaskRecord
from willow_django.tasks import task

from tests.support.shop import hearing

hearing.begin()
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
left_tasks: list[asyncio.Task[None]] = []
visitor: ContextVar[str | None] = ContextVar("visitor", default=None)


@task
def add(a: int, b: int) -> int:
    return a + b


@task
async def add_later(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


@task
def broken() -> None:
    raise ValueError("it is broken")


@task
def leaves() -> None:
    raise SystemExit("it leaves")


@task
async def leaves_later() -> None:
    raise SystemExit("it leaves")


@task(retries=2, takes_context=True)
def third_time_lucky(context: Any) -> int:
    if context.attempt < 3:
        raise ConnectionError(f"attempt {context.attempt}")
    return int(context.attempt)


@task(retries=5, takes_context=True)
def sixth_time_lucky(context: Any) -> int:
    if context.attempt < 6:
        raise ConnectionError(f"attempt {context.attempt}")
    return int(context.attempt)


@task
def returns(value: str) -> str:
    return value.encode().decode("unicode_escape")


@task
def raises(text: str) -> None:
    raise ValueError(text.encode().decode("unicode_escape"))


@task(queue_name="emails", priority=10)
def which_request() -> str | None:
    return request_id.get()


@task(retries=1)
def hangs() -> None:
    time.sleep(3600)


@task(retries=1)
async def hangs_on_the_loop() -> None:
    await asyncio.Event().wait()


def _say_begun(path: str) -> None:
    Path(f"{path}.{uuid.uuid4().hex}.begun").touch()


def _is_there(path: str) -> bool:
    return Path(path).exists()


@task
def until_there_is(path: str) -> None:
    """Leaves a file that says that it has begun."""
    _say_begun(path)
    while not _is_there(path):
        time.sleep(0.01)


@task
def written_twice() -> None:
    for _ in range(2):
        TaskRecord.objects.bulk_create([TaskRecord(id="twice", priority=0, arguments={}, enqueued_at=timezone.now())])


@task
def writes_and_fails() -> None:
    post("written", "before it failed")
    raise ValueError("it failed")


@task(unique="again")
def again() -> None:
    again.enqueue()


@task
async def awaits_until_there_is(path: str) -> None:
    _say_begun(path)
    while not _is_there(path):
        await asyncio.sleep(0.01)


@task
async def waits_in_a_thread(path: str) -> None:
    await sync_to_async(until_there_is.func)(path)


@task
async def waits_in_a_thread_of_asyncio(path: str) -> None:
    await asyncio.to_thread(until_there_is.func, path)


@task
def waits_for_a_thread_of_its_own_pool(path: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(until_there_is.func, path)


@task
def leaves_a_pool(path: str) -> None:
    ThreadPoolExecutor(1).submit(until_there_is.func, path)


@task
async def leaves_a_task_that_cannot_be_cancelled(path: str) -> None:
    left_tasks.append(asyncio.create_task(cannot_be_cancelled.func(path)))


@task
async def cannot_be_cancelled(path: str) -> None:
    _say_begun(path)
    while not _is_there(path):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.01)


@task
async def counts_records() -> int:
    return await TaskRecord.objects.acount()


def _connection() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@task
def which_connection() -> int:
    return _connection()


@task
async def which_connections() -> list[int]:
    """Of two things that the task does one after the other."""
    return [await sync_to_async(_connection)() for _ in range(2)]


def _break_connection() -> None:
    def close() -> None:
        raise OSError("it cannot be closed")

    connection.close = close  # type: ignore[method-assign]


@task
async def breaks_its_connection() -> None:
    await sync_to_async(_break_connection)()


@task
async def which_connection_in_a_thread() -> int:
    return await asyncio.to_thread(_connection)


@task
def leaves_a_transaction() -> None:
    transaction.atomic().__enter__()


@task
async def leaves_a_transaction_later() -> None:
    await sync_to_async(leaves_a_transaction.func)()


@task
def is_in_a_transaction() -> bool:
    return connection.in_atomic_block


@task
def returns_a_large_number() -> int:
    return 10**5000


@task
def is_cancelled() -> None:
    raise asyncio.CancelledError


@task
async def is_cancelled_later() -> None:
    raise asyncio.CancelledError


@task
async def cancels_itself() -> None:
    current = asyncio.current_task()
    assert current is not None
    current.cancel()
    await asyncio.sleep(0)


@task
def visits(name: str) -> str | None:
    """Who was there before."""
    before = visitor.get()
    visitor.set(name)
    return before


@task
async def visits_later(name: str) -> str | None:
    before = visitor.get()
    visitor.set(name)
    return before


@task
def ends_its_worker(path: str) -> None:
    _say_begun(path)
    os.kill(os.getpid(), signal.SIGKILL)


@task
def traced() -> str | None:
    return carried.trace_headers().get("traceparent")


@task
def too_slow() -> str:
    try:
        while True:
            time.sleep(0.01)
    except SoftTimeLimitExceeded:
        return "cleaned up"
