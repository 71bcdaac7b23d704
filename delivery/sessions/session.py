"""One connection's state: who it is, what it holds, what it waits for. Its commands are in `delivery/commands/`.

Other modules call its methods, and never assign its attributes.
"""

import time
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from clients.models import Permission
from clients.principal import Principal
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Error, Frame, Message
from delivery.sessions.claims import Claims
from delivery.sessions.node_interface import NodeInterface
from delivery.sessions.ordering import HeldBack
from delivery.sessions.posts import Posts
from delivery.sessions.readings import Readings
from delivery.sessions.reads import Reads
from delivery.sessions.resending import Resending
from delivery.sessions.subscriptions import Subscriptions
from delivery.sessions.under_way import Reply, UnderWay
from queues.definitions import Definer


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    id: int
    name: str


class Outgoing(Protocol):
    """The socket's side that leads to the client."""

    @property
    def is_crowded(self) -> bool:
        """Whether the client has much to read, and is to be given nothing more for now."""

    def put(self, frame: Frame) -> None: ...

    def close(self, code: int, reason: str) -> None:
        """Read nothing more; close the socket when everything that was put before has been sent, or soon."""


class Role(Protocol):
    """What a session is besides an ordinary client: a worker of services."""

    @property
    def queue_ids(self) -> frozenset[int]:
        """The queues whose messages it is given in this role."""

    def leave(self, *, keeps_claims: bool) -> None:
        """The connection has ended."""


class Session:
    def __init__(
        self,
        node: NodeInterface,
        principal: Principal,
        outgoing: Outgoing,
        *,
        hold_seconds: float = 0.0,
        address: str = "",
    ) -> None:
        self.node = node
        self.address = address  # from where the client came
        self.principal = principal
        # Whose waiting reads are counted together.
        self.caller: Hashable = address if principal.key_id is None else principal.key_id
        self.send = outgoing.put
        self._outgoing = outgoing
        self.session_id = 0  # given when the session is opened or resumed
        self.hold_seconds = hold_seconds
        self.registered: RegisteredClient | None = None
        self.role: Role | None = None
        self.closed = False
        self.kicked = False  # nothing that its client says counts any more
        self.last_heard = time.monotonic()
        self.under_way = UnderWay()
        self.held_back = HeldBack(self.under_way)
        self.claims = Claims(self)
        self.posts = Posts(self)
        self.readings = Readings()
        self.reads = Reads(self)
        self.subscriptions = Subscriptions(self)
        self.resending = Resending(self)
        self.steps: Iterator[None] | None = None  # what is left of a command that is taken in several
        self._restored = False
        self._lives_elsewhere = False

    # who it is

    @property
    def client_name(self) -> str | None:
        return self.registered.name if self.registered else self.principal.client_name

    @property
    def definer(self) -> Definer:
        """On whose account it defines queues."""
        return replace(self.principal.definer, source=self.session_id)

    def opened(self, session_id: int) -> None:
        self.session_id = session_id

    def resumed(
        self, session_id: int, client: RegisteredClient | None, held: Iterable[tuple[int, int, int, float, str | None]]
    ) -> None:
        """It goes on with what an earlier connection left: its number, its client and the messages that it held."""
        self.session_id = session_id
        self.registered = client
        self.claims.resume(held)

    def register_as(self, client: RegisteredClient) -> bool:
        """Returns whether it is the first time, so that what the client read and held is still to be restored."""
        self.registered = client
        first, self._restored = not self._restored, True
        return first

    def take_role(self, role: Role) -> None:
        self.role = role

    def change_principal(self, current: Principal) -> None:
        """Its key has other grants or quotas now."""
        self.principal = current

    def moved_away(self) -> None:
        """Its client went on over another node: what it holds is no longer this connection's to give back."""
        self._lives_elsewhere = True

    def kick(self, code: int, reason: str) -> None:
        """Close the socket from this side. What the client has sent and was not taken yet is not done any more."""
        self.kicked = True
        self._outgoing.close(code, reason)

    def hold_nothing(self) -> None:
        """When it closes, its claims go to others at once, even if the client asked to hold them."""
        self.hold_seconds = 0.0

    def heard(self) -> None:
        self.last_heard = time.monotonic()

    def require(self, permission: Permission, queue_name: str) -> None:
        if not self.principal.may(permission, queue_name):
            reason = f"Your key does not grant `{permission.value}` on {queue_name}."
            raise WillowError(Code.PERMISSION_DENIED, queue_name, reason)

    # what it is told

    def reply_to(self, label: int | None, body: bytes | None = None) -> Reply:
        """For a command that is answered later. Until then `body` is kept: it counts as a post does, or is refused."""
        if not body:
            return Reply(self, label)
        self.node.engine.keep(len(body), self.under_way.bytes)
        return Reply(self, label, len(body))

    def let_go_of(self, size: int) -> None:
        self.node.engine.let_go_of(size)

    def refuse(self, label: int | None, error: WillowError) -> None:
        self.node.refusals[error.code.value] += 1
        self.send(Error(label, error.code, error.key, error.message))

    def send_message(self, label: int | None, row: Any, *, finished: bool, left: int | None = None) -> None:
        queue = self.node.directory.by_id(row.queue_id)
        name, tags = (queue.name, queue.tags) if queue else ("", ())
        self.send(
            Message(
                label,
                row.queue_id,
                row.sequence,
                row.body,
                finished,
                name,
                tags,
                row.index,
                row.attempts,
                row.priority,
                headers=row.headers,
                group=row.group_key,
                left=left,
                work_timeout=None if finished else row.work_timeout,
            )
        )

    # what it does

    @property
    def is_at_work(self) -> bool:
        """Whether commands are under way, or the client has messages that it has not finished."""
        return bool(self.under_way.count or self.claims or self.subscriptions.has_unacknowledged)

    def queues_read(self) -> set[int]:
        """The queues whose messages this session waits for or holds."""
        served = self.role.queue_ids if self.role else frozenset()
        return self.reads.queue_ids() | self.subscriptions.queue_ids() | served | self.claims.queue_ids()

    @property
    def is_crowded(self) -> bool:
        """Whether its client has so much to read that it is given no messages."""
        return self._outgoing.is_crowded

    def go_on_reading(self) -> None:
        """The client has read enough: it is given messages again."""
        self.resending.go_on()
        self.reads.go_on()
        self.subscriptions.go_on()

    def begin_steps(self, steps: Iterator[None]) -> None:
        """The commands behind them are taken when they are done."""
        self.steps = steps

    def end_steps(self) -> None:
        self.steps = None

    def restart_claims(self) -> None:
        self.claims.restart_all()
        self.subscriptions.keep_all_alive()

    def look_after_overdue(self) -> None:
        """Called by the poll: messages whose time is over without a word from the client."""
        self.subscriptions.send_overdue_again()
        self.claims.look_after_overdue()
        self.resending.go_on()

    def close(self) -> None:
        """The socket is gone: read nothing more. What is held has failed, unless the client asked to hold it."""
        self.closed = True
        self.reads.end_all()
        self.subscriptions.end_all()
        if self.node.leaving:
            return  # the node lets go of all its sessions together
        self.node.sessions.forget(self)
        if self._lives_elsewhere:
            return
        holds = self.hold_seconds > 0
        if self.role is not None:
            self.role.leave(keeps_claims=holds)
        if holds:
            self.node.sessions.hold(self)
        elif self.role is not None:
            self.node.sessions.end(self)
        elif self.claims and self.node.is_in_doubt:
            self.node.sessions.give_up(self)  # it may live on elsewhere, with its claims
        else:
            self.claims.give_back_all(done=self.node.sessions.end_soon(self))
