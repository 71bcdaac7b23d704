"""One connection's state: who it is, what it holds, what it waits for. Its commands are in `delivery/commands/`."""

import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from clients.models import Permission
from clients.principal import Principal
from delivery.engine.demands import Demand, Turns
from delivery.moves.endings import FailRequest
from delivery.moves.states import Reason
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Command, Error, Frame, Message
from delivery.sessions.ordering import InTurn
from delivery.sessions.positions import StartPosition, open_position
from delivery.sessions.posts import Posts
from delivery.sessions.reads import OneTimeReader
from delivery.sessions.stream_reader import Places, StreamReader
from delivery.sessions.subscriptions import Subscription, Wish
from delivery.storage.statements import statement
from queues.definitions import QueueRecord

if TYPE_CHECKING:
    from delivery.node.node import Node
    from delivery.serving.worker import Worker

logger = logging.getLogger(__name__)

ClaimId = tuple[int, int]  # shard and sequence


@dataclass(slots=True)
class Claim:
    """A message that this session holds."""

    index: int
    work_timeout: float
    deadline: float  # of the monotonic clock
    place_is_free: Callable[[], None] | None  # told when the claim ends: the subscription that it came through
    attempt: int = 0  # of the message; unknown if it was handed out over an earlier connection

    def restart(self) -> None:
        self.deadline = time.monotonic() + self.work_timeout


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    id: int
    name: str


class Session:
    def __init__(self, node: "Node", principal: Principal, send: Callable[[Frame], None]) -> None:
        self.node = node
        self.principal = principal
        self.send = send
        self.session_id = 0  # given when the session is opened or resumed
        self.hold_seconds = 0.0
        self.registered: RegisteredClient | None = None
        self.restored = False  # what the client read and held in its last session has been taken up again
        self.held_back: deque[Callable[[], None]] | None = None  # commands behind one that must be over first
        self.not_held_back: frozenset[type[Command]] = frozenset()  # kinds that need not wait for it
        self.closed = False
        self.under_way = 0  # commands that will be answered without the client's help
        self.when_less: Callable[[], None] | None = None  # told when fewer are under way
        self.close_socket: Callable[[int, str], None] | None = None
        self.claims: dict[ClaimId, Claim] = {}
        self.about_claims: InTurn[ClaimId] = InTurn()
        self.resumed_claims: frozenset[ClaimId] = frozenset()  # held since before this connection
        self.last_heard = time.monotonic()
        self.worker: Worker | None = None  # since its first word as one
        self.posts = Posts(self)
        self.reader = OneTimeReader(self)
        self.demands: set[Demand] = set()
        self.turns: defaultdict[tuple[str, tuple[str, ...]], Turns] = defaultdict(Turns)  # by queue name and tags
        self.subscriptions: dict[int | None, Subscription] = {}  # by label
        self.streams: dict[int, StreamReader] = {}  # by queue

    @property
    def client_name(self) -> str | None:
        return self.registered.name if self.registered else self.principal.client_name

    @property
    def is_at_work(self) -> bool:
        """Whether commands are under way, or messages are with the client."""
        return bool(self.under_way or self.claims) or any(reader.is_with_client for reader in self.streams.values())

    def reads(self) -> set[int]:
        """The queues whose messages this session waits for or holds."""
        waited_for = {queue.id for demand in self.demands for queue in demand.queues}
        subscribed = {queue_id for subscription in self.subscriptions.values() for queue_id in subscription.queues}
        served = self.worker.queue_ids if self.worker else frozenset()
        return waited_for | subscribed | served | {queue_id for queue_id, _ in self.claims}

    def require(self, permission: Permission, queue_name: str) -> None:
        if not self.principal.may(permission, queue_name):
            reason = f"Your key does not grant `{permission.value}` on {queue_name}."
            raise WillowError(Code.PERMISSION_DENIED, queue_name, reason)

    def refuse(self, label: int | None, error: WillowError) -> None:
        self.node.refusals[error.code.value] += 1
        self.send(Error(label, error.code, error.key, error.message))

    def began(self) -> None:
        self.under_way += 1

    def ended(self) -> None:
        self.under_way -= 1
        if self.when_less is not None:
            self.when_less()

    def hold_back(self, *, but: frozenset[type[Command]] = frozenset()) -> None:
        """What comes now waits for `go_on`: who the client is decides about it, or its order among posts."""
        self.held_back = deque()
        self.not_held_back = but

    def go_on(self) -> None:
        waiting, self.held_back = self.held_back or deque(), None
        while waiting and self.held_back is None:
            self.ended()
            waiting.popleft()()
        if self.held_back is not None:  # one of them holds back the rest
            self.held_back.extend(waiting)

    # claims

    def hand_over(
        self, label: int | None, messages: Sequence[Any], place_is_free: Callable[[], None] | None = None
    ) -> None:
        """Send claimed messages to the client. If it has gone meanwhile, they go back at once."""
        if self.closed:
            self._give_back((row.queue_id, row.sequence, row.index) for row in messages)
            return
        for row in messages:
            self.let_go((row.queue_id, row.sequence), None)  # a claim with this ID that ended without our knowing
            deadline = time.monotonic() + row.work_timeout
            self.claims[row.queue_id, row.sequence] = Claim(
                row.index, row.work_timeout, deadline, place_is_free, row.attempts
            )
            self.send_message(label, row, finished=False)

    def send_message(self, label: int | None, row: Any, *, finished: bool) -> None:
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
            )
        )

    def unknown_to_client(self, rows: Iterable[Any]) -> list[Any]:
        """Of messages that this session holds, those that were not sent over this connection."""
        sent_here = self.claims.keys() - self.resumed_claims
        return [row for row in rows if (row.queue_id, row.sequence) not in sent_here]

    def let_go(self, claim_id: ClaimId, index: int | None) -> int | None:
        """A claim has ended. Returns its index, if it was known here."""
        claim = self.claims.get(claim_id)
        if claim is None or index not in (None, claim.index):
            return index
        del self.claims[claim_id]
        if claim.place_is_free is not None:
            claim.place_is_free()
        return claim.index

    def restart_claims(self) -> None:
        for claim in self.claims.values():
            claim.restart()
        for reader in self.streams.values():
            reader.keep_all_alive()

    def tend(self) -> None:
        """Every second or so: what ran out of time without a word from the client."""
        for reader in self.streams.values():
            reader.send_overdue_again()
        now = time.monotonic()
        if any(claim.deadline <= now for claim in self.claims.values()):
            self.node.on_desk_soon(self._drop_lost_claims)

    async def _drop_lost_claims(self, connection: AsyncConnection[Any]) -> None:
        """The reaper may have ended claims; the places that they took are free again."""
        cursor = await connection.execute(statement("held_by"), {"holder": self.session_id})
        held = {(queue_id, sequence): index for queue_id, sequence, index, _ in await cursor.fetchall()}
        now = time.monotonic()
        for claim_id, claim in list(self.claims.items()):
            if claim.deadline <= now and held.get(claim_id) != claim.index:
                self.let_go(claim_id, claim.index)

    async def forget_lost_claims(self, connection: AsyncConnection[Any]) -> None:
        """An operator ended claims of this session: the places that they took are free again, now."""
        known = dict(self.claims)
        cursor = await connection.execute(statement("held_by"), {"holder": self.session_id})
        held = {(queue_id, sequence): index for queue_id, sequence, index, _ in await cursor.fetchall()}
        for claim_id, claim in known.items():
            if held.get(claim_id) != claim.index and self.claims.get(claim_id) is claim:
                self.let_go(claim_id, claim.index)

    # reading

    def read_stream(
        self, queue: QueueRecord, wish: Wish, places: Places, position: StartPosition | None
    ) -> StreamReader:
        """`position` None: the stream came to be after the subscription, which gets all of it."""
        assert self.registered is not None
        client_id = self.registered.id
        reader = StreamReader(self, client_id, queue, wish, feed=self.node.stream_feed(queue.id), places=places)
        self.streams[queue.id] = reader

        async def open_and_start(connection: AsyncConnection[Any]) -> None:
            if opened := await open_position(connection, client_id, queue.id, "oldest"):
                reader.start(opened)

        if position is None:
            self.node.on_desk_soon(open_and_start)
        else:
            reader.start(position)
        return reader

    # the end

    def kick(self, code: int, reason: str) -> None:
        """Close the socket from this side."""
        if self.close_socket is not None:
            self.close_socket(code, reason)

    def close(self) -> None:
        """The socket is gone: nothing more is taken, and what is held fails unless the client asked to hold it."""
        self.closed = True
        for demand in list(self.demands):
            self.node.engine.waiters.remove(demand)
        for subscription in self.subscriptions.values():
            subscription.end()
        if self.node.leaving:
            return  # the node lets go of all its sessions together
        holds = self.hold_seconds > 0
        if self.worker is not None:
            self.worker.leave(keeps_claims=holds)
        elif not holds:
            self._give_back((*claim_id, claim.index) for claim_id, claim in self.claims.items())
        if holds:
            self.node.hold(self)
        else:
            self.node.end(self)

    def give_back_unknown(self, held: Iterable[Any]) -> None:
        """Of what this session holds, what the client never heard of."""
        known = {claim_id: claim.index for claim_id, claim in self.claims.items()}
        self._give_back(
            (row.queue_id, row.sequence, row.index)
            for row in held
            if known.get((row.queue_id, row.sequence)) != row.index
        )

    def _give_back(self, claims: Iterable[tuple[int, int, int]]) -> None:
        for queue_id, sequence, index in claims:
            self.node.engine.end(
                FailRequest(
                    queue_id=queue_id,
                    sequence=sequence,
                    index=index,
                    holder=self.session_id,
                    client=self.client_name,
                    reason=Reason.DISCONNECTED.value,
                    answer=self._given_back,
                )
            )

    def _given_back(self, error: WillowError | None) -> None:
        """Whatever else may be wrong, the claim has ended otherwise; but a storage that is gone still knows it."""
        if error is not None and error.code == Code.UNAVAILABLE:
            self.node.owe_goodbye(self.session_id)
