"""The status of the queues of a name."""

import time
from typing import Any

from django.conf import settings
from django.db import connection

from delivery.storage.statements import statement
from queues.definitions import SETTING_NAMES

COUNTS = ("ready", "delayed", "in_flight", "dead")
REUSE_FACTOR = 50  # a status that took one second is reused for fifty
MANY_COUNTED = 10_000  # messages; counting fewer is never slow

_made: dict[str, tuple[float, dict[str, Any]]] = {}  # by name: until when, and the status


def status_of(name: str) -> dict[str, Any] | None:
    """The status of all queues of a name, or None. Computed for each call, unless counting takes long.

    All counts are exact. Counting takes longer the more messages are delayed or in flight.
    """
    started = time.monotonic()
    if (made := _made.get(name)) is not None and started < made[0]:
        return made[1]
    status = _read(name)
    _made.pop(name, None)
    if status is not None and status["totals"]["delayed"] + status["totals"]["in_flight"] > MANY_COUNTED:
        finished = time.monotonic()
        _made[name] = (finished + (finished - started) * REUSE_FACTOR, status)
    return status


def _read(name: str) -> dict[str, Any] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement("status"), {"name": name, "lapse": settings.WILLOW.node_lapse})
        columns = [column.name for column in cursor.description]
        queues = [_queue(dict(zip(columns, row, strict=True))) for row in cursor.fetchall()]
    if not queues:
        return None
    totals: dict[str, Any] = {count: sum(queue[count] for queue in queues) for count in COUNTS}
    totals["oldest_age"] = max(
        (queue["oldest_age"] for queue in queues if queue["oldest_age"] is not None), default=None
    )
    totals["queues"] = len(queues)
    return {"name": name, "queues": queues, "totals": totals}


def _queue(row: dict[str, Any]) -> dict[str, Any]:
    live = int(row["live"])
    return {
        "name": row["name"],
        "tags": row["tags"],
        "shard": row["id"],
        "kind": row["kind"],
        "defined_at": row["defined_at"],
        "indexes": {"newest": row["newest_index"], "oldest": row["oldest_index"]},
        "ready": live - row["in_flight"] - row["delayed"],
        "delayed": row["delayed"],
        "in_flight": row["in_flight"],
        "dead": int(row["dead"]),
        "oldest_age": row["oldest_age"],
        "consumers": row["consumers"],
        "paused": row["paused"],
    } | {setting: row[setting] for setting in SETTING_NAMES}
