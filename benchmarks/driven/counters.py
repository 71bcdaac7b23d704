"""What PostgreSQL has done for one database's clients so far: processor time, WAL and pages."""

from dataclasses import astuple, dataclass
from datetime import datetime
from pathlib import Path

from psycopg import connect

OF_BROKER = "application_name LIKE 'willow %%' AND application_name NOT LIKE 'willow reaper%%'"


@dataclass(frozen=True)
class Reading:
    """What was used until now, or between two readings."""

    cpu: int = 0  # nanoseconds of the broker's backends
    wal: int = 0  # bytes that the whole server wrote, commits included
    statement_wal: int = 0  # bytes that this database's statements wrote, whatever else the server did
    pages: int = 0  # that these statements looked at

    def __sub__(self, earlier: "Reading") -> "Reading":
        return Reading(*(now - then for now, then in zip(astuple(self), astuple(earlier), strict=True)))

    def __add__(self, other: "Reading") -> "Reading":
        return Reading(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))


class Counters:
    def __init__(self, database_url: str) -> None:
        self._connection = connect(database_url, autocommit=True)
        self._connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")

    def close(self) -> None:
        self._connection.close()

    def read(self) -> Reading:
        """The processor time as the kernel counts it for each process, so that no clock tick is too coarse."""
        backends = self._connection.execute(
            f"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND {OF_BROKER}"
        ).fetchall()
        row = self._connection.execute(
            "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn, coalesce(sum(wal_bytes), 0),"
            " coalesce(sum(shared_blks_hit + shared_blks_read), 0)"
            " FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid"
            " WHERE d.datname = current_database() AND toplevel AND query NOT LIKE '%%pg_stat_%%'"
        ).fetchone()
        assert row is not None
        return Reading(sum(_nanoseconds_on_a_core(pid) for (pid,) in backends), *map(int, row))

    def checkpoint(self) -> None:
        """Afterwards the first change of each page writes all of it to the WAL: warm up before counting."""
        self._connection.execute("CHECKPOINT")

    def duty_runs(self) -> dict[str, datetime]:
        """When the reaper last did each of its duties."""
        return dict(self._connection.execute("SELECT duty, ran_at FROM delivery_dutyrun").fetchall())


def _nanoseconds_on_a_core(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    except FileNotFoundError:  # it ended meanwhile
        return 0
