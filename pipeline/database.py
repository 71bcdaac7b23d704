"""PostgreSQL, reached twice: by psycopg for short statements of the run itself, and by JDBC for Spark."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from pipeline.errors import AlreadyRunningError, PipelineError

Connection = psycopg.Connection[tuple[Any, ...]]

ONE_RUN_AT_A_TIME = 7_719_455_670  # the advisory lock's number; 69 is the reaper's
CONNECT_SECONDS = 10
STATEMENT_SECONDS = 25  # so that no snapshot is ever 30 s old
WRITE_ROWS = 10_000  # in one statement
JDBC_CLASS = "org.postgresql.Driver"
PASSED_ON = ("sslmode", "sslrootcert", "sslcert", "sslkey")


def connect(url: str) -> Connection:
    """A connection whose statements are bounded; each statement is a transaction of its own unless said otherwise."""
    try:
        connection = psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="willow pipeline",
            prepare_threshold=None,  # a plan for any day would look into all days
        )
    except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
        reason = str(error).strip().splitlines()[0]
        raise PipelineError(
            f"The database cannot be reached: {reason}.", "Check DATABASE_URL and the server."
        ) from None
    connection.execute("SET TIME ZONE 'UTC'")
    bound_statements(connection)
    return connection


def bound_statements(connection: Connection) -> None:
    connection.execute(f"SET statement_timeout = '{STATEMENT_SECONDS}s'".encode())


@contextmanager
def without_bound(connection: Connection) -> Iterator[None]:
    """For statements about a whole day of the journal, or all messages, which hold no lock that a broker waits for."""
    connection.execute("SET statement_timeout = 0")
    yield
    bound_statements(connection)  # not after a failure: that ends the run


@contextmanager
def sole_run(connection: Connection) -> Iterator[None]:
    """Be the only run of the pipeline on this database. A killed run lets go by itself: its connection ends."""
    if not value(connection, "SELECT pg_try_advisory_lock(%s)", ONE_RUN_AT_A_TIME):
        raise AlreadyRunningError("Another run of the pipeline is in progress on this database.", "Wait for it to end.")
    try:
        yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", [ONE_RUN_AT_A_TIME])


def let_statement_end(connection: Connection) -> None:
    """After an interrupt in the midst of a statement: make the connection one that can be used again."""
    if connection.info.transaction_status == TransactionStatus.ACTIVE:
        connection.cancel_safe(timeout=CONNECT_SECONDS)
        while connection.pgconn.get_result() is not None:
            pass
    if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
        connection.pgconn.exec_(b"ROLLBACK")  # psycopg has given up on its transaction already


def value(connection: Connection, query: LiteralString, *parameters: Any) -> Any:
    row = connection.execute(query, parameters).fetchone()
    return row[0] if row else None


def horizon(connection: Connection) -> int:
    """All transactions before this one have ended: what they wrote is settled."""
    return int(value(connection, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"))


def next_transaction(connection: Connection) -> int:
    """No transaction of this server has this number yet, nor a higher one."""
    return int(value(connection, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"))


def fingerprint(connection: Connection) -> str:
    """Which database this is. Numbers of transactions mean nothing in another one, or after a recovery."""
    query = """
        SELECT (SELECT system_identifier FROM pg_control_system()),
               (SELECT oid FROM pg_database WHERE datname = current_database()),
               (SELECT timeline_id FROM pg_control_checkpoint())
    """
    row = connection.execute(query).fetchone()
    assert row is not None
    return "cluster {} database {} timeline {}".format(*row)


def jdbc_options(url: str) -> dict[str, str]:
    """What Spark's JDBC source needs to reach the same database."""
    parts = {name: str(part) for name, part in conninfo_to_dict(url).items() if part is not None}
    host = parts.get("host", "127.0.0.1")
    if host.startswith("/"):
        raise PipelineError(
            "The pipeline can reach PostgreSQL only over TCP, but the database URL names a Unix socket.",
            "Give a host name in WILLOW_PIPELINE_READ_URL and DATABASE_URL.",
        )
    host = f"[{host}]" if ":" in host else host
    extra = "".join(f"&{name}={parts[name]}" for name in PASSED_ON if name in parts)
    return {
        "url": f"jdbc:postgresql://{host}:{parts.get('port', '5432')}/{parts.get('dbname', '')}"
        f"?ApplicationName=willow%20pipeline&reWriteBatchedInserts=true&connectTimeout={CONNECT_SECONDS}{extra}",
        "driver": JDBC_CLASS,
        "user": parts.get("user", ""),
        "password": parts.get("password", ""),
        # All rows of a statement at once: by a cursor, the snapshot would be as old as Spark takes to digest them, and
        # beside a busy broker that is long.
        "fetchsize": "0",
        "batchsize": str(WRITE_ROWS),
        "sessionInitStatement": (
            f"SET statement_timeout = '{STATEMENT_SECONDS}s';"
            f"SET idle_in_transaction_session_timeout = '{STATEMENT_SECONDS}s'"
        ),
    }
