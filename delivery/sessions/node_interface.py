"""What the sessions of a node need of it. The node itself is above this room, and is never imported here."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

from psycopg import AsyncConnection

from delivery.engine.engine import Engine
from delivery.engine.queues import Directory
from delivery.sessions.quotas import KeyQuotas
from delivery.sessions.stream_feed import StreamFeeds
from delivery.storage.lanes import Lane

if TYPE_CHECKING:
    from delivery.sessions.session import Session


class SessionKeeper(Protocol):
    """Where a session says that its socket is gone."""

    def forget(self, session: "Session") -> None:
        """It has no connection here any more."""

    def hold(self, session: "Session") -> None:
        """Keep its claims for the time that it asked for."""

    def end(self, session: "Session") -> None: ...

    def end_soon(self, session: "Session") -> Callable[[], None]:
        """What ends it, to be called once everything it held is given back."""

    def give_up(self, session: "Session") -> None:
        """Its claims fail, unless its client has gone on elsewhere."""

    def end_later(self, session_id: int) -> None:
        """The database could not be told that a session is over: tell it when it is back."""


class NodeInterface(Protocol):
    @property
    def engine(self) -> Engine: ...

    @property
    def directory(self) -> Directory: ...

    @property
    def jobs(self) -> Lane: ...

    @property
    def streams(self) -> Lane: ...

    @property
    def feeds(self) -> StreamFeeds: ...

    @property
    def sessions(self) -> SessionKeeper: ...

    @property
    def quotas(self) -> KeyQuotas: ...

    @property
    def refusals(self) -> Counter[str]:
        """Of commands, by their code."""

    @property
    def draining(self) -> bool: ...

    @property
    def leaving(self) -> bool: ...

    @property
    def is_in_doubt(self) -> bool:
        """Whether others may have taken this node for dead, so that its sessions may live elsewhere by now."""

    def is_paused(self, queue_id: int) -> bool:
        """Whether no messages of this queue are handed out now."""

    def run_job_soon(self, work: Callable[[AsyncConnection[Any]], Awaitable[Any]]) -> None:
        """Run without waiting. If the database is gone, the poll and the reaper make up for it."""
