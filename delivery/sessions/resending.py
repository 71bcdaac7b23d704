"""A client came back with its id and asks for what it holds: some of it may have been lost with its last socket."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from delivery.moves.service_names import is_service_queue
from delivery.protocol.errors import WillowError
from delivery.sessions.restoring import restore
from delivery.storage.connection import fetch_rows
from delivery.storage.lanes import Job
from delivery.storage.statements import statement

if TYPE_CHECKING:
    from delivery.sessions.session import Session


def send_again(session: "Session") -> None:
    """Send what the session holds, with the label null. What cannot be read now stays claimed, as without this."""

    async def read(connection: AsyncConnection[Any]) -> list[Any]:
        return await fetch_rows(connection, statement("held_messages"), {"holder": session.session_id})

    def send(held: Sequence[Any]) -> None:
        messages = [row for row in held if not is_service_queue(row.queue_name)]  # requests go to their worker
        restore(session, all_terms=[], held=messages, done=lambda: None)

    session.node.jobs.submit(Job(read, send, _stays_claimed))


def _stays_claimed(error: WillowError) -> None: ...
