"""The broker's own connections to PostgreSQL: asynchronous, few, and planned for short statements."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, LiteralString

import psycopg
from django.conf import settings
from django.db import connections
from psycopg import AsyncConnection
from psycopg.rows import namedtuple_row

from delivery.protocol.errors import Code, WillowError
from delivery.storage.after_crash import go_on_after_crash
from delivery.storage.columns import register_columns
from delivery.storage.psycopg_internals.short_way import ShortWayConnection
from delivery.storage.statement_connection import Row, StatementConnection

# The message table is empty one minute and has a million rows the next, so its statistics are never to be trusted:
# plans are made once, for any size, and always go by the indexes that the statements name.
PLANNER = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_sort": "off",  # where an index has the order, it is gone by, however large it is
    "enable_incremental_sort": "off",
    "enable_bitmapscan": "off",  # it would gather and sort a whole queue to find its first message
    "jit": "off",
}
# For what the URL of the database does not say itself. A server that is cut off without a word (a pulled plug, a lost
# route) is given up before the statement timeout, which it cannot keep any more.
UNLESS_SAID = {
    "connect_timeout": 5,  # seconds
    "keepalives": 1,
    "keepalives_idle": 5,  # seconds
    "keepalives_interval": 5,  # seconds
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds
}
# The same from the server's side: what a broker held that vanished, or stands still within a transaction, is let go.
SERVER_GIVES_UP = {
    "tcp_keepalives_idle": "5",  # seconds
    "tcp_keepalives_interval": "5",  # seconds
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20000",  # milliseconds
    "idle_in_transaction_session_timeout": "10000",  # milliseconds
}
STATEMENT_TIMEOUT = 30_000  # milliseconds
SILENCE_SECONDS = 32.0  # after which a server that should have kept the statement timeout is given up
CONNECTION_GONE = ("08", "57P")  # connection exceptions, and an operator's shutdown
TOOK_TOO_LONG = "57014"  # a statement: its timeout is over
OUT_OF_RESOURCES = ("53", TOOK_TOO_LONG)  # 53: no room, no memory
LOST_A_RACE = frozenset({"40001", "40P01", "55P03"})  # serialization, deadlock, lock not available
MOST_TRIES = 5  # of what lost a race
NOT_PREPARED = "26000"  # any more; it will be, the next time


async def connect(
    *, application: str, synchronous: bool = True, statement_timeout: int = STATEMENT_TIMEOUT
) -> StatementConnection:
    """A connection that commits each statement by itself, unless a transaction is opened on it."""
    own = {**PLANNER, **SERVER_GIVES_UP, "statement_timeout": str(statement_timeout)}
    own["synchronous_commit"] = "on" if synchronous else "off"
    kind = StatementConnection if settings.WILLOW.plain_psycopg else ShortWayConnection
    connection = await kind.connect(**_connection_parameters(application, own), autocommit=True, prepare_threshold=0)
    register_columns(connection)
    return connection


async def connect_to_change(*, application: str, synchronous: bool = True) -> StatementConnection:
    """A connection for whoever posts or moves messages: after a crash of the storage, queues have gone on before."""
    connection = await connect(application=application, synchronous=synchronous)
    try:
        await go_on_after_crash(connection)
    except BaseException:
        await connection.close()
        raise
    return connection


def _connection_parameters(application: str, own_settings: Mapping[str, str]) -> dict[str, Any]:
    """What the URL of the database says, and what Willow needs. Of two settings in `options` the last one counts."""
    database = connections["default"].settings_dict
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    said = {ours: database[theirs] for theirs, ours in names.items() if database[theirs]} | database["OPTIONS"]
    if (folder := settings.WILLOW.database_socket) is not None:
        said = {key: value for key, value in said.items() if key != "hostaddr"} | {"host": folder}
    name = said.get("application_name")
    options = [said.get("options", ""), *(f"-c {setting}={value}" for setting, value in own_settings.items())]
    needed = {
        "client_encoding": "UTF8",  # packed columns hold it
        "application_name": f"{application} ({name})" if name else application,
        "options": " ".join(options).strip(),
    }
    return UNLESS_SAID | said | needed


async def fetch_rows(connection: AsyncConnection[Any], query: LiteralString, values: Mapping[str, Any]) -> list[Any]:
    """The rows of a statement, with its columns as attributes."""
    async with connection.cursor(row_factory=namedtuple_row, binary=True) as cursor:
        await cursor.execute(query, values)
        return await cursor.fetchall()


async def fetch_batch(
    connection: AsyncConnection[Any], query: LiteralString, values: Mapping[str, Any], row_type: type[Row]
) -> list[Row]:
    """The same for a statement that runs all the time: prepared where the connection is a lane's, with typed rows."""
    if isinstance(connection, StatementConnection):
        return await connection.rows(query, values, row_type)
    async with connection.cursor(row_factory=lambda _: row_type._make, binary=True) as cursor:
        await cursor.execute(query, values)
        return await cursor.fetchall()


def without_values(error: psycopg.Error) -> str:
    """What PostgreSQL has against a statement, for the log. Its details may quote the row, body included."""
    return f"{error.diag.message_primary} ({error.sqlstate})" if error.diag.message_primary else str(error)


def is_lost(error: psycopg.Error, connection: AsyncConnection[Any]) -> bool:
    """Whether the connection is gone, as opposed to one statement that PostgreSQL refused."""
    return connection.closed or connection.broken or (error.sqlstate or "08").startswith(CONNECTION_GONE)


def hang_up(connection: AsyncConnection[Any]) -> None:
    """Whoever waits for an answer on this connection finds it closed. Nothing is sent that could hold us up."""
    if connection.closed:
        return
    with socket.socket(fileno=os.dup(connection.pgconn.socket)) as ours, suppress(OSError):
        ours.shutdown(socket.SHUT_RDWR)


def took_too_long(error: psycopg.Error) -> bool:
    return error.sqlstate == TOOK_TOO_LONG


def is_out_of_resources(error: psycopg.Error) -> bool:
    """Whether the storage is at its limits: no part of a batch would fare better."""
    return (error.sqlstate or "").startswith(OUT_OF_RESOURCES)


def is_worth_another_try(error: psycopg.Error) -> bool:
    return error.sqlstate in LOST_A_RACE or error.sqlstate == NOT_PREPARED


def unavailable() -> WillowError:
    return WillowError(
        Code.UNAVAILABLE,
        "storage",
        "The storage cannot be reached now, and nothing was stored. Please try again.",
    )


def too_busy() -> WillowError:
    return WillowError(
        Code.UNAVAILABLE,
        "storage",
        "Others changed the same queues again and again, and nothing was stored. Please try again.",
    )


class InDoubt(WillowError):
    """The connection broke between asking and hearing: nobody can know whether the commit went through."""


def in_doubt() -> InDoubt:
    reason = (
        "The storage was lost while this was under way. It may have been done: a post with `dedupe` can be repeated."
    )
    return InDoubt(Code.UNAVAILABLE, "storage", reason)
