"""What became of tasks, read and written for many at once: a worker that runs eight at a time makes few statements."""

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from django.db import DataError, Error, IntegrityError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import JSONField

from willow_django.conf import willow_settings
from willow_django.models import TaskRecord
from willow_django.tasks_api import TaskResultStatus

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

BEYOND_A_LIMIT = "54"  # a class of PostgreSQL's errors, as for a text that is too long for JSON

# For PostgreSQL, in the order of the model's fields. A query that Django makes takes longer to make than to ask.
FIND_ALL = """
SELECT id, path, backend, queue_name, priority, run_after, arguments, status, enqueued_at, started_at,
    last_attempted_at, finished_at, return_value, errors, worker_ids
FROM willow_django_taskrecord
WHERE id = ANY(%s)
"""

# Read and planned once for all records. That the ids are said twice keeps it on their index: otherwise it does not know
# how few records are to come. A worker that was paused may have lost its task to another one meanwhile: what has
# succeeded has done so whoever says it, and stays so; everything else is said by the latest attempt only.
UPDATE_ALL = """
UPDATE willow_django_taskrecord t
SET status = n.status, started_at = n.started_at, last_attempted_at = n.last_attempted_at, finished_at = n.finished_at,
    return_value = n.return_value, errors = n.errors, worker_ids = n.worker_ids
FROM jsonb_to_recordset(%s::jsonb) AS n (
    id text, status text, started_at timestamptz, last_attempted_at timestamptz, finished_at timestamptz,
    return_value jsonb, errors jsonb, worker_ids jsonb
)
WHERE t.id = n.id AND t.id = ANY(%s) AND t.status <> 'SUCCESSFUL'
    AND (n.status = 'SUCCESSFUL' OR t.last_attempted_at IS NULL OR t.last_attempted_at <= n.last_attempted_at)
"""

# The same for other databases. The second part is for tasks that have not succeeded.
UPDATE_ONE = "UPDATE {table} SET {changes} WHERE id = %s AND status <> 'SUCCESSFUL'"
OF_THE_LATEST_ATTEMPT = " AND (last_attempted_at IS NULL OR last_attempted_at <= %s)"


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


def is_of_the_record(error: Error) -> bool:
    """Whether the database will never take it. All else passes: a restart, a standby that only reads, a full disk."""
    state = getattr(error.__cause__, "sqlstate", None) or getattr(error.__cause__, "pgcode", None)
    return isinstance(error, DataError | IntegrityError) or str(state).startswith(BEYOND_A_LIMIT)


def save_each(records: Sequence[TaskRecord]) -> list[Error | None]:
    """Together or, if the database does not take them all, one by one: what is wrong with one is its own."""
    try:
        connected(save_records, records)
        return [None] * len(records)
    except Error:
        if not _is_there():
            raise
    return [_refusal(record) for record in records]


def _is_there() -> bool:
    connection = connections[willow_settings().database]
    try:
        connection.close_if_unusable_or_obsolete()
        connection.ensure_connection()
    except Error:
        return False
    return True


def _refusal(record: TaskRecord) -> Error | None:
    try:
        connected(save_records, [record])
    except Error as error:
        return error
    return None


def save_records(records: Sequence[TaskRecord]) -> None:
    """In one transaction. A record that was deleted stays deleted."""
    database = willow_settings().database
    connection = connections[database]
    if connection.vendor == "postgresql":
        _save_by_one_statement(records, connection)
    else:
        with transaction.atomic(using=database), connection.cursor() as cursor:
            for record in records:
                cursor.execute(*_update(record, connection))


def _save_by_one_statement(records: Sequence[TaskRecord], connection: BaseDatabaseWrapper) -> None:
    """Which is a transaction by itself. If there is one already, it outlives a refusal."""
    rows = [{name: getattr(record, name) for name in ("id", *CHANGING)} for record in records]
    ids = [record.pk for record in records]
    savepoint = transaction.atomic(using=connection.alias) if connection.in_atomic_block else nullcontext()
    with savepoint, connection.cursor() as cursor:
        cursor.execute(UPDATE_ALL, [json.dumps(rows, default=datetime.isoformat), ids])


def _update(record: TaskRecord, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
    """A statement, and what it is executed with."""
    fields = [field for field in TaskRecord._meta.concrete_fields if field.name in CHANGING]
    quoted = connection.ops.quote_name
    changes = ", ".join(f"{quoted(str(field.column))} = %s" for field in fields)
    update = UPDATE_ONE.format(table=quoted(TaskRecord._meta.db_table), changes=changes)
    values = {field.name: field.get_db_prep_save(getattr(record, field.attname), connection) for field in fields}
    if record.status == TaskResultStatus.SUCCESSFUL:
        return update, [*values.values(), record.pk]
    return update + OF_THE_LATEST_ATTEMPT, [*values.values(), record.pk, values["last_attempted_at"]]


def connected(ask: Callable[[Any], Any], questions: Any) -> Any:
    """The thread keeps its connection. If that broke meanwhile, the same is asked once more on a new one."""
    connection = connections[willow_settings().database]
    try:
        return _committed(ask, questions, connection)
    except Error as error:
        if is_of_the_record(error):
            raise
        connection.close()
    return _committed(ask, questions, connection)


def _committed(ask: Callable[[Any], Any], questions: Any, connection: BaseDatabaseWrapper) -> Any:
    """Also where the project has turned autocommit off."""
    if not connection.get_autocommit():
        connection.set_autocommit(True)
    return ask(questions)
