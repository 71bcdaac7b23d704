"""Tasks of the project."""

import asyncio
import time
import uuid
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from django.utils import timezone
from willow_django import carried, post
from willow_django.limits import SoftTimeLimitExceeded
from willow_django.models import TaskRecord
from willow_django.tasks import task

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


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


@task
def until_there_is(path: str) -> None:
    """Leaves a file that says that it has begun."""
    Path(f"{path}.{uuid.uuid4().hex}.begun").touch()
    while not Path(path).exists():
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
def traced() -> str | None:
    return carried.trace_headers().get("traceparent")


@task
def too_slow() -> str:
    try:
        while True:
            time.sleep(0.01)
    except SoftTimeLimitExceeded:
        return "cleaned up"
