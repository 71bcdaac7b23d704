"""What became of tasks, read and written for many at once: a worker that runs eight at a time makes few statements."""

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from django.db import Error, InterfaceError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import JSONField

from willow_django.batches import Batches
from willow_django.conf import willow_settings
from willow_django.models import TaskRecord

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

# For PostgreSQL, in the order of the model's fields. A query that Django makes takes longer to make than to ask.
FIND_ALL = """
SELECT id, path, backend, queue_name, priority, run_after, arguments, status, enqueued_at, started_at,
    last_attempted_at, finished_at, return_value, errors, worker_ids
FROM willow_django_taskrecord
WHERE id = ANY(%s)
"""

# Read and planned once for all records. That the ids are said twice keeps it on their index: otherwise it does not know
# how few records are to come.
UPDATE_ALL = """
UPDATE willow_django_taskrecord t
SET status = n.status, started_at = n.started_at, last_attempted_at = n.last_attempted_at, finished_at = n.finished_at,
    return_value = n.return_value, errors = n.errors, worker_ids = n.worker_ids
FROM jsonb_to_recordset(%s::jsonb) AS n (
    id text, status text, started_at timestamptz, last_attempted_at timestamptz, finished_at timestamptz,
    return_value jsonb, errors jsonb, worker_ids jsonb
)
WHERE t.id = n.id AND t.id = ANY(%s)
"""


def find_records(ids: Sequence[str]) -> list[TaskRecord | None]:
    database = willow_settings().database
    connection = connections[database]
    if connection.vendor == "postgresql":
        found = _find_by_one_statement(ids, connection)
    else:
        found = TaskRecord.objects.using(database).in_bulk(list(set(ids)))
    return [found.get(id) for id in ids]


def _find_by_one_statement(ids: Sequence[str], connection: BaseDatabaseWrapper) -> dict[str, TaskRecord]:
    fields = TaskRecord._meta.concrete_fields
    names = [field.attname for field in fields]
    in_json = [number for number, field in enumerate(fields) if isinstance(field, JSONField)]
    found = {}
    with connection.cursor() as cursor:
        cursor.execute(FIND_ALL, [list(ids)])
        for row in cursor.fetchall():
            values = list(row)
            for number in in_json:
                values[number] = None if row[number] is None else json.loads(row[number])
            found[row[0]] = TaskRecord.from_db(connection.alias, names, values)
    return found


def save_each(records: Sequence[TaskRecord]) -> list[Exception | None]:
    """Together or, if the database does not take them all, one by one: what is wrong with one is its own."""
    try:
        save_records(records)
        return [None] * len(records)
    except (OperationalError, InterfaceError):
        raise  # the connection broke
    except Error as error:
        return [error] if len(records) == 1 else [save_each([record])[0] for record in records]


def save_records(records: Sequence[TaskRecord]) -> None:
    """In one transaction. A record that was deleted stays deleted."""
    database = willow_settings().database
    connection = connections[database]
    if connection.vendor == "postgresql":
        _save_by_one_statement(records, connection)
    else:
        with transaction.atomic(using=database), connection.cursor() as cursor:
            cursor.executemany(*_one_by_one(records, connection))


def _save_by_one_statement(records: Sequence[TaskRecord], connection: BaseDatabaseWrapper) -> None:
    """Which is a transaction by itself. If there is one already, it outlives a refusal."""
    rows = [{name: getattr(record, name) for name in ("id", *CHANGING)} for record in records]
    ids = [record.pk for record in records]
    savepoint = transaction.atomic(using=connection.alias) if connection.in_atomic_block else nullcontext()
    with savepoint, connection.cursor() as cursor:
        cursor.execute(UPDATE_ALL, [json.dumps(rows, default=datetime.isoformat), ids])


def _one_by_one(records: Sequence[TaskRecord], connection: BaseDatabaseWrapper) -> tuple[str, list[list[Any]]]:
    """A statement, and what it is executed with for each record."""
    fields = [field for field in TaskRecord._meta.concrete_fields if field.name in CHANGING]
    columns = ", ".join(f"{connection.ops.quote_name(str(field.column))} = %s" for field in fields)
    update = f"UPDATE {connection.ops.quote_name(TaskRecord._meta.db_table)} SET {columns} WHERE id = %s"
    rows = [
        [*(field.get_db_prep_save(getattr(record, field.attname), connection) for field in fields), record.pk]
        for record in records
    ]
    return update, rows


def _connected(ask: Callable[[Any], Any], questions: Any) -> Any:
    """The thread keeps its connection. If that broke meanwhile, the same is asked once more on a new one."""
    connection = connections[willow_settings().database]
    try:
        return _committed(ask, questions, connection)
    except (OperationalError, InterfaceError):
        connection.close()
        return _committed(ask, questions, connection)


def _committed(ask: Callable[[Any], Any], questions: Any, connection: BaseDatabaseWrapper) -> Any:
    """Also where the project has turned autocommit off."""
    if not connection.get_autocommit():
        connection.set_autocommit(True)
    return ask(questions)


class Records:
    """The records of a worker's tasks, in two threads: what is to be found does not wait until others are flushed to
    disk. `close` ends them with their connections.
    """

    def __init__(self) -> None:
        self._finder = ThreadPoolExecutor(1, thread_name_prefix="willow finds records")
        self._saver = ThreadPoolExecutor(1, thread_name_prefix="willow saves records")
        self._finding: Batches[str, TaskRecord | None] = Batches(_asking(find_records, self._finder))
        self._saving: Batches[TaskRecord, None] = Batches(_asking(save_each, self._saver))

    async def find(self, id: str) -> TaskRecord | None:
        return await self._finding.ask(id)

    async def save(self, record: TaskRecord) -> None:
        await self._saving.ask(record)

    def close(self) -> None:
        for thread in (self._finder, self._saver):
            thread.submit(connections.close_all)
            thread.shutdown()


def _asking(ask: Callable[[Any], Any], thread: ThreadPoolExecutor) -> Callable[[Any], "asyncio.Future[Any]"]:
    return lambda questions: asyncio.get_running_loop().run_in_executor(thread, _connected, ask, questions)
