"""The sessions of this node: how they are opened, resumed and let go."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection

from clients.statements import statement as client_statement
from delivery.moves.leases import restart_leases
from delivery.protocol.close_codes import ID_IN_USE
from delivery.protocol.errors import Code, WillowError
from delivery.sessions.session import RegisteredClient, Session
from delivery.storage.lanes import Job, Lane, run_job
from delivery.storage.statements import statement

END_SECONDS = 5.0  # for which a node that stops waits until its sessions' ends are written
TOKEN_BYTES = 24  # of randomness in the id that `hello` hands out


class SessionTable(Mapping[int, Session]):
    """Live sessions by their numbers.

    `streams`: the lane that writes how far clients have come. `resumed`: called when a session has come back.
    """

    def __init__(self, *, node_id: int, doors: Lane, streams: Lane, resumed: Callable[[], None]) -> None:
        self._node_id = node_id
        self._doors = doors
        self._streams = streams
        self._resumed = resumed
        self._sessions: dict[int, Session] = {}
        self._ending: dict[int, asyncio.Future[None]] = {}  # sessions that have gone, until that is written
        self._ends_to_write: set[int] = set()  # sessions that ended while the database was gone
        self.opened = 0

    def __getitem__(self, session_id: int) -> Session:
        return self._sessions[session_id]

    def __iter__(self) -> Iterator[int]:
        return iter(self._sessions)

    def __len__(self) -> int:
        return len(self._sessions)

    # how they begin

    async def open(self, session: Session, *, token: str | None) -> str:
        """Give a session its identity: the one that it asks to resume, or a new one. Returns the id for `hello`."""
        await self._check_connections(session)
        self.opened += 1
        parameters = {
            "node": self._node_id,
            "key": session.principal.key_id,
            "owner": session.principal.client_id,
            "client": None,
            "address": session.address,
            "hold": session.hold_seconds,
            "lapse": settings.WILLOW.node_lapse,
        }
        if token is not None and await self._resume(session, parameters | {"token": token}):
            return token
        token = secrets.token_urlsafe(TOKEN_BYTES)
        row = await self._one_row("open_session", parameters | {"token": token})
        session.opened(row[0])
        self._sessions[session.session_id] = session
        return token

    async def _check_connections(self, session: Session) -> None:
        """Refuse one too many. Several that come at the same moment may all be let in."""
        principal = session.principal
        most = principal.quotas.connections
        if not most:
            return
        if principal.key_id is None:  # counted here, on this node
            connections = sum(session.principal.key_id is None for session in self._sessions.values())
        else:
            parameters = {"key": principal.key_id, "limit": most, "address": session.address}
            [connections] = await self._one_row("connections_of_key", parameters)
        if connections >= most:
            reason = f"The quota `connections` of your key is {most}, which is used up."
            raise WillowError(Code.OVERLOADED, "connections", reason)

    async def _resume(self, session: Session, parameters: dict[str, Any]) -> bool:
        async def work(connection: AsyncConnection[Any]) -> tuple[Any, list[Any]]:
            async with connection.transaction():
                found = await (await connection.execute(client_statement("resume_session"), parameters)).fetchone()
                if found is None:
                    return None, []
                # Its node may have died without anybody noticing: the claims' time starts again now.
                await restart_leases(connection, [found[0]])
                held = await connection.execute(statement("held_by"), {"holder": found[0]})
                return found, await held.fetchall()

        found, held = await run_job(self._doors, work, source=session.address)
        if found is None and await self._ends_just_now(parameters):
            found, held = await run_job(self._doors, work, source=session.address)
        if found is None:
            await self._check_is_unknown(parameters)
            return False
        session_id, client_id, client_name = found
        session.resumed(session_id, None if client_name is None else RegisteredClient(client_id, client_name), held)
        self._sessions[session_id] = session
        self._resumed()
        return True

    async def _ends_just_now(self, parameters: dict[str, Any]) -> bool:
        """Whether the id is that of a session which was here a moment ago; returns when that may be taken up again."""
        found = await self._one_row("find_session", parameters)
        if found is None or found[0] in self._sessions:
            return False
        if (ending := self._ending.get(found[0])) is not None:
            await asyncio.shield(ending)
        return True

    async def _check_is_unknown(self, parameters: dict[str, Any]) -> None:
        """Refuse an id that is in use. An unknown one gets a new session."""
        elsewhere = await self._one_row("find_session", parameters)
        if elsewhere is not None:
            raise WillowError(Code.PERMISSION_DENIED, elsewhere[1] or "id", _why_not_resumed(elsewhere))

    async def _one_row(self, name: str, parameters: dict[str, Any]) -> Any:
        """On behalf of the caller of this `address`."""

        async def work(connection: AsyncConnection[Any]) -> Any:
            return await (await connection.execute(client_statement(name), parameters)).fetchone()

        return await run_job(self._doors, work, source=parameters["address"])

    async def reclaim(self, connection: AsyncConnection[Any]) -> None:
        """Other nodes may have taken this one for dead. Its sessions are still here, unless they went on elsewhere."""
        parameters = {"node": self._node_id, "session": list(self._sessions)}
        cursor = await connection.execute(client_statement("reclaim_sessions"), parameters)
        kept = {session_id for (session_id,) in await cursor.fetchall()}
        for session_id in self._sessions.keys() - kept:
            self._sessions[session_id].moved_away()
            self._sessions[session_id].kick(ID_IN_USE, "This client is served by another node now.")

    # how they end

    def hold(self, session: Session) -> None:
        self._let_go(session, "hold_session")

    def end(self, session: Session) -> None:
        self._let_go(session, "end_session")

    def end_soon(self, session: Session) -> Callable[[], None]:
        """What ends the session, once it may end. Until then whoever comes with its id has to wait."""
        self._begin_ending(session.session_id)
        return lambda: self.end(session)

    def give_up(self, session: Session) -> None:
        self.end_later(session.session_id)

    def forget(self, session: Session) -> None:
        if self._sessions.get(session.session_id) is session:
            del self._sessions[session.session_id]

    def _let_go(self, session: Session, name: str) -> None:
        session_id = session.session_id

        async def work(connection: AsyncConnection[Any]) -> None:
            await connection.execute(client_statement(name), {"session": session_id, "node": self._node_id})

        def is_written(_: object) -> None:
            if (ending := self._ending.pop(session_id, None)) is not None:
                ending.set_result(None)

        def is_not_written(_: object) -> None:
            self.end_later(session_id)
            is_written(None)

        def let_go(_: object = None) -> None:
            self._doors.submit(Job(work, is_written, is_not_written, session.address))

        self._begin_ending(session_id)
        if session.subscriptions.reads_streams:  # its last acknowledgements must be written in its name
            self._streams.submit(Job(_nothing, let_go, let_go))
        else:
            let_go()

    def _begin_ending(self, session_id: int) -> None:
        if session_id not in self._ending:
            self._ending[session_id] = asyncio.get_running_loop().create_future()

    async def ends_are_written(self) -> None:
        """Of those sessions that have gone; not for ever, for the database may be gone, too."""
        if self._ending:
            await asyncio.wait(list(self._ending.values()), timeout=END_SECONDS)

    def end_later(self, session_id: int) -> None:
        """The database could not be told that a session is over: tell it when it is back."""
        self._ends_to_write.add(session_id)

    @property
    def has_ends_to_write(self) -> bool:
        return bool(self._ends_to_write)

    async def write_ends(self, connection: AsyncConnection[Any]) -> None:
        ended = set(self._ends_to_write)
        parameters = {"session": list(ended - self._sessions.keys()), "node": self._node_id}
        await connection.execute(client_statement("give_up_sessions"), parameters)
        self._ends_to_write -= ended


async def _nothing(connection: AsyncConnection[Any]) -> None: ...


def _why_not_resumed(elsewhere: Any) -> str:
    _, node, same_owner = elsewhere
    if not same_owner:
        return "This id belongs to another client."
    return f"This id has a live connection on the node {node}."
