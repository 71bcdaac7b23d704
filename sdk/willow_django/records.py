"""What became of tasks, read and written for many at once: a worker that runs eight at a time makes few statements.

A batch forms while the one before is under way. Nothing waits for a timer: a worker with one task writes it at once.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from django.db import InterfaceError, OperationalError, connections, transaction

from willow_django.conf import willow_settings
from willow_django.models import TaskRecord

Question = TypeVar("Question")
Answer = TypeVar("Answer")

# What changes while a task runs.
CHANGING = (
    "status",
    "started_at",
    "last_attempted_at",
    "finished_at",
    "return_value",
    "errors",
    "worker_ids",
)


def find_records(ids: Sequence[str]) -> list[TaskRecord | None]:
    found = TaskRecord.objects.using(willow_settings().database).in_bulk(list(set(ids)))
    return [found.get(id) for id in ids]


def save_records(records: Sequence[TaskRecord]) -> list[None]:
    """In one transaction, and one round trip where the driver can. A record that was deleted stays deleted."""
    database = willow_settings().database
    connection = connections[database]
    fields = [field for field in TaskRecord._meta.concrete_fields if field.name in CHANGING]
    columns = ", ".join(f"{connection.ops.quote_name(str(field.column))} = %s" for field in fields)
    update = f"UPDATE {connection.ops.quote_name(TaskRecord._meta.db_table)} SET {columns} WHERE id = %s"
    rows = [
        [*(field.get_db_prep_save(getattr(record, field.attname), connection) for field in fields), record.pk]
        for record in records
    ]
    with transaction.atomic(using=database), connection.cursor() as cursor:
        cursor.executemany(update, rows)
    return [None] * len(records)


class Batches(Generic[Question, Answer]):
    """Asks a blocking function in a thread; what comes while it is at work is asked together afterwards."""

    def __init__(self, ask: Callable[[Sequence[Question]], Sequence[Answer]], thread: ThreadPoolExecutor) -> None:
        self._ask = ask
        self._thread = thread
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._is_asking = False

    async def ask(self, question: Question) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        if not self._is_asking:
            self._is_asking = True
            asyncio.get_running_loop().call_soon(self._next)  # after others that begin in the same turn
        return await answer

    def _next(self) -> None:
        batch, self._waiting = self._waiting, []
        self._is_asking = bool(batch)
        if not batch:
            return
        loop = asyncio.get_running_loop()
        asked = loop.run_in_executor(self._thread, _connected, self._ask, [question for question, _ in batch])
        asked.add_done_callback(lambda done: self._answer(batch, done))

    def _answer(
        self, batch: list[tuple[Question, "asyncio.Future[Answer]"]], done: "asyncio.Future[Sequence[Answer]]"
    ) -> None:
        error = done.exception()
        for place, (_, answer) in enumerate(batch):
            if answer.done():
                continue
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(done.result()[place])
        self._next()


def _connected(ask: Callable[[Any], Any], questions: Any) -> Any:
    """The thread keeps its connection. If that broke meanwhile, the same is asked once more on a new one."""
    try:
        return ask(questions)
    except (OperationalError, InterfaceError):
        connections[willow_settings().database].close()
        return ask(questions)


class Records:
    """The records of a worker's tasks, in a thread of their own. `close` ends it with its connection."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="willow records")
        self._finding: Batches[str, TaskRecord | None] = Batches(find_records, self._thread)
        self._saving: Batches[TaskRecord, None] = Batches(save_records, self._thread)

    async def find(self, id: str) -> TaskRecord | None:
        return await self._finding.ask(id)

    async def save(self, record: TaskRecord) -> None:
        await self._saving.ask(record)

    def close(self) -> None:
        self._thread.submit(connections.close_all)
        self._thread.shutdown()
