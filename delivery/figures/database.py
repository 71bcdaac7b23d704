"""The state of PostgreSQL, as far as the broker depends on it."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from delivery.storage.reading import bounded_cursor
from delivery.storage.statements import statement

MOST_SNAPSHOTS = 10
MOST_DAYS = 35


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A transaction that keeps vacuum from removing dead rows."""

    pid: int
    user: str | None
    application: str
    address: str
    state: str | None
    seconds: float
    transactions: int
    query: str

    @property
    def owner(self) -> str:
        return self.application or self.user or f"process {self.pid}"


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    bytes: int
    live_rows: int
    dead_rows: int
    last_vacuum: datetime | None
    last_analyze: datetime | None
    vacuums: int
    hot_share: float | None  # the share of updates that changed no index

    @property
    def dead_share(self) -> float:
        rows = self.live_rows + self.dead_rows
        return self.dead_rows / rows if rows else 0.0


@dataclass(frozen=True, slots=True)
class Server:
    version: str
    started_at: datetime
    bytes: int
    connections: int
    most_connections: int
    hit_share: float | None  # the share of blocks that were read from memory
    rolled_back: int
    deadlocks: int
    oldest_transactions: int  # age of the oldest unfrozen transaction; wraparound is at 2.1 billion


@dataclass(frozen=True, slots=True)
class JournalDay:
    day: date
    bytes: int
    rows: int


def oldest_snapshots() -> list[Snapshot]:
    return [Snapshot(**row) for row in rows_of("oldest_snapshots", {"most": MOST_SNAPSHOTS})]


def tables() -> list[Table]:
    """Largest first; the partitions of the journal are added up."""
    return [Table(**row) for row in rows_of("table_health")]


def server() -> Server:
    [row] = rows_of("server_health")
    return Server(**row)


def journal_days() -> list[JournalDay]:
    """Newest first, including days that were made ahead."""
    return [JournalDay(**row) for row in rows_of("journal_sizes", {"most": MOST_DAYS})]


def rows_of(name: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    with bounded_cursor() as cursor:
        cursor.execute(statement(name), parameters)
        columns = [column.name for column in cursor.description]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
