"""Requests of which nothing stays: they only find out whether a lane's connection works."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from psycopg import AsyncConnection

from delivery.protocol.errors import WillowError
from delivery.storage.after_commit import AfterCommit, for_each
from delivery.storage.statement_connection import StatementConnection


class Probe:
    """Asks for nothing: an idle lane finds out that its connection is gone before somebody needs it."""

    synchronous = True
    source = None
    weight = 0

    def fail(self, error: WillowError) -> None: ...


async def run_probes(connection: AsyncConnection[Any], probes: list[Probe]) -> None:
    await connection.execute("SELECT 1")


class Rehearsal:
    """Work of which nothing stays, to see whether it could be done: it is answered like any request of its lane."""

    synchronous = True
    source = None
    weight = 0

    def __init__(
        self,
        work: Callable[[StatementConnection], Awaitable[object]],
        answer: Callable[[WillowError | None], None],
    ) -> None:
        self.work = work
        self.answer = answer
        self.fail = answer


async def run_rehearsals(connection: StatementConnection, rehearsals: list[Rehearsal]) -> AfterCommit:
    for rehearsal in rehearsals:
        async with connection.rehearsal():
            await rehearsal.work(connection)
    return AfterCommit(partial(for_each, lambda rehearsal: rehearsal.answer(None), rehearsals))
