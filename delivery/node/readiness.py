"""Whether this process should be sent clients. Load balancers ask it, so it says why in a few plain words."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from psycopg import AsyncConnection

from delivery.node import life
from delivery.node.rehearsal import rehearse
from delivery.protocol.errors import WillowError
from delivery.storage.connection import connect

ASK_SECONDS = 5.0  # for all questions together
REHEARSAL_SECONDS = 3.0
STATEMENT_TIMEOUT = 2_000  # milliseconds
GOOD_SECONDS = 1.0  # an answer is given again for this long: anybody may ask, as often as they like
REAPER_SECONDS = 30.0  # without a sign of the reaper; it writes down every duty at least every five seconds

OK = "ok"
NOT_STARTED = "unknown: the node has not started yet"
UNKNOWN = "unknown: the database cannot be reached"


@dataclass(frozen=True)
class Readiness:
    checks: dict[str, str]

    @property
    def is_ready(self) -> bool:
        return set(self.checks.values()) == {OK}


class Health:
    def __init__(self) -> None:
        self._stored: dict[str, str] = {}  # what the database was asked about
        self._good_until = 0.0  # of the monotonic clock
        self._asking: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None

    async def readiness(self) -> Readiness:
        if time.monotonic() >= self._good_until:
            if self._asking is None or self._asking.done():
                self._asking = asyncio.get_running_loop().create_task(self._ask())
            await asyncio.shield(self._asking)
        return Readiness({"node": _node_check(), **self._stored})

    async def _ask(self) -> None:
        if life.current_or_none() is None and (self._starting is None or self._starting.done()):
            # Under uvicorn nothing else starts the node before the first client comes, and a probe comes before that.
            self._starting = asyncio.get_running_loop().create_task(_start_node())
        try:
            async with asyncio.timeout(ASK_SECONDS):
                self._stored = await _database_checks() | {"messages": await _messages_check()}
        except (psycopg.Error, TimeoutError):  # the reason is in the log; here it could tell addresses and names
            unknown = dict.fromkeys(("migrations", "reaper", "heartbeat", "messages"), UNKNOWN)
            self._stored = {"database": "cannot be reached", **unknown}
        self._good_until = time.monotonic() + GOOD_SECONDS


async def _start_node() -> None:
    with suppress(WillowError):
        await life.started()


def _node_check() -> str:
    node = life.current_or_none()
    if node is None:
        return "not started yet"
    if node.draining:
        return "stopping"
    gone = [lane.name for lane in node.lanes if not lane.connected.is_set()]
    return f"waits for the database: {', '.join(gone)}" if gone else OK


async def _messages_check() -> str:
    """Whether a message can be posted, claimed and finished on the connections that all clients share."""
    node = life.current_or_none()
    if node is None:
        return NOT_STARTED
    try:
        async with asyncio.timeout(REHEARSAL_SECONDS):
            await rehearse(node.engine)
    except WillowError:  # what PostgreSQL has against it is in the log
        return "cannot be posted, claimed and finished; the log of this node says why"
    except TimeoutError:
        return f"were not posted, claimed and finished within {REHEARSAL_SECONDS:g} seconds"
    return OK


async def _database_checks() -> dict[str, str]:
    async with await connect(application="willow health", statement_timeout=STATEMENT_TIMEOUT) as connection:
        await connection.execute("SELECT 1")
        return {
            "database": OK,
            "migrations": await _asked(_migrations_check, connection),
            "reaper": await _asked(_reaper_check, connection),
            "heartbeat": await _asked(_heartbeat_check, connection),
        }


async def _asked(check: Callable[[AsyncConnection[Any]], Awaitable[str]], connection: AsyncConnection[Any]) -> str:
    """A database that was never prepared has no such tables."""
    try:
        return await check(connection)
    except psycopg.errors.UndefinedTable:
        return "the database was not prepared; run `manage.py prepare`"


async def _migrations_check(connection: AsyncConnection[Any]) -> str:
    cursor = await connection.execute("SELECT app, name FROM django_migrations")
    missing = _newest_migrations() - set(await cursor.fetchall())
    if not missing:
        return OK
    return f"{len(missing)} not applied, such as {'.'.join(min(missing))}; run `manage.py prepare`"


@cache
def _newest_migrations() -> frozenset[tuple[str, str]]:
    """The last one of each app: it is applied only after all before it."""
    return frozenset(MigrationLoader(None).graph.leaf_nodes())


async def _heartbeat_check(connection: AsyncConnection[Any]) -> str:
    """The node commits it all the time: the others believe in it, and so may we."""
    node = life.current_or_none()
    if node is None:
        return NOT_STARTED
    cursor = await connection.execute(
        "SELECT extract(epoch FROM now() - heartbeat_at)::float8 FROM clients_node WHERE id = %s", [node.id]
    )
    ages = [age for (age,) in await cursor.fetchall()]
    if not ages:
        return "forgotten: this node is not in the cluster any more"
    return OK if ages[0] <= settings.WILLOW.node_lapse else f"not written for {ages[0]:.0f} seconds"


async def _reaper_check(connection: AsyncConnection[Any]) -> str:
    cursor = await connection.execute("SELECT extract(epoch FROM now() - max(ran_at))::float8 FROM delivery_dutyrun")
    [(age,)] = await cursor.fetchall()
    if age is None:
        return "never seen; run `manage.py reaper`"
    return OK if age <= REAPER_SECONDS else f"not seen for {age:.0f} seconds; run `manage.py reaper`"
