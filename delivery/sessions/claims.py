"""The claims of one session: the messages that its client holds, how long still, and how they end."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from psycopg import AsyncConnection

from delivery.moves.endings import FailRequest, FinishRequest, ReleaseRequest
from delivery.moves.groups import UNKNOWN_GROUP
from delivery.moves.states import Reason
from delivery.protocol.errors import Code, WillowError
from delivery.sessions.ordering import OneAtATime
from delivery.storage.statements import statement

if TYPE_CHECKING:
    from delivery.sessions.session import Session

ClaimId = tuple[int, int]  # shard and sequence


class HeldClaim(NamedTuple):
    queue_id: int
    sequence: int
    index: int | None  # type: ignore[assignment]  # tuples have a method of that name
    attempt: int | None  # None: of a message that was handed out over an earlier connection


GIVEN_BACK_AT_ONCE = 256  # claims of a session that has ended
UNKNOWN_ATTEMPT = 0  # of a message that was handed out over an earlier connection


@dataclass(slots=True)
class Claim:
    index: int
    attempt: int
    work_timeout: float  # seconds
    deadline: float  # of the monotonic clock
    place_is_free: Callable[[], None] | None  # called when the claim ends, for the subscription that it came through
    group: str | None


class Claims:
    """What the client holds, as far as this node knows. The database decides: the reaper or an operator may end claims.

    `commands` keeps the client's commands about one message in their order.
    """

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._claims: dict[ClaimId, Claim] = {}
        self._resumed: frozenset[ClaimId] = frozenset()  # held since before this connection
        self.commands: OneAtATime[ClaimId] = OneAtATime()

    def __len__(self) -> int:
        return len(self._claims)

    def held(self) -> Iterator[HeldClaim]:
        """What is held now, also if some of it ends before it is its turn."""
        claims = list(self._claims.items())
        return (HeldClaim(*claim_id, claim.index, claim.attempt or None) for claim_id, claim in claims)

    def queue_ids(self) -> set[int]:
        return {queue_id for queue_id, _ in self._claims}

    def index_of(self, claim_id: ClaimId, index: int | None) -> int | None:
        """The index that a command names, or else that of the message with this ID which the client holds."""
        if index is None and (claim := self._claims.get(claim_id)) is not None:
            return claim.index
        return index

    def say_group(self, request: FinishRequest) -> None:
        """The next of its group can go with the statement that ends this one, if it is known which group that is."""
        claim = self._claims.get((request.queue_id, request.sequence))
        if claim is not None and claim.index == request.index:
            request.group = claim.group

    # how claims begin

    def resume(self, held: Iterable[tuple[int, int, int, float, str | None]]) -> None:
        """Take over what the session held over an earlier connection: rows of held_by.sql."""
        for queue_id, sequence, index, work_timeout, group in held:
            self._add((queue_id, sequence), index, UNKNOWN_ATTEMPT, work_timeout, group=group)
        self._resumed = frozenset(self._claims)

    def hand_over(
        self,
        label: int | None,
        messages: Sequence[Any],
        place_is_free: Callable[[], None] | None = None,
        *,
        counts: bool = False,
    ) -> None:
        """Send claimed messages to the client. If it has gone meanwhile, it never had them."""
        if self._session.closed:
            self.release_unsent(messages)
            return
        for left, row in zip(range(len(messages) - 1, -1, -1), messages, strict=True):
            claim_id = (row.queue_id, row.sequence)
            self.let_go(claim_id, None)  # an earlier message with this ID, whose claim has ended without our knowing
            self._add(claim_id, row.index, row.attempts, row.work_timeout, place_is_free, group=row.group_key)
            self._session.send_message(label, row, finished=False, left=left if counts else None)

    def hand_over_again(self, label: int | None, row: Any) -> None:
        """Send a message that the client has held since before this connection. It keeps the place that it has."""
        place_is_free = None
        if (claim := self._claims.get((row.queue_id, row.sequence))) is not None and claim.index == row.index:
            place_is_free, claim.place_is_free = claim.place_is_free, None
        self.hand_over(label, [row], place_is_free)

    def take_request(self, request: Any) -> bool:
        """Note a request that this session holds as a worker. False if it was sent over this connection already."""
        claim_id = (request.queue_id, request.sequence)
        known = self._claims.get(claim_id)
        if known and (known.index, known.attempt) == (request.index, request.attempts):
            return False
        self._add(claim_id, request.index, request.attempts, request.work_timeout)
        return True

    def _add(
        self,
        claim_id: ClaimId,
        index: int,
        attempt: int,
        work_timeout: float,
        place_is_free: Callable[[], None] | None = None,
        *,
        group: str | None = UNKNOWN_GROUP,
    ) -> None:
        deadline = time.monotonic() + work_timeout
        self._claims[claim_id] = Claim(index, attempt, work_timeout, deadline, place_is_free, group)

    def will_be_sent(self, held: Iterable[Any]) -> None:
        """What the session holds is its own from now on, also before it is sent again."""
        new = {(row.queue_id, row.sequence): row for row in held if (row.queue_id, row.sequence) not in self._claims}
        for claim_id, row in new.items():
            self._add(claim_id, row.index, row.attempts, row.work_timeout, group=row.group_key)
        self._resumed |= new.keys()

    def resumed_without_place(self) -> list[ClaimId]:
        """Of what the client has held since before this connection, all that no subscription counts as its own yet."""
        held = ((claim_id, self._claims.get(claim_id)) for claim_id in self._resumed)
        return [claim_id for claim_id, claim in held if claim is not None and claim.place_is_free is None]

    def give_place(self, claim_id: ClaimId, place_is_free: Callable[[], None]) -> bool:
        """False if the claim has ended meanwhile, or has a place."""
        if (claim := self._claims.get(claim_id)) is None or claim.place_is_free is not None:
            return False
        claim.place_is_free = place_is_free
        return True

    def not_sent_here(self, rows: Iterable[Any]) -> list[Any]:
        """Of messages that this session holds, those that were not sent over this connection."""
        sent_here = self._claims.keys() - self._resumed
        return [row for row in rows if (row.queue_id, row.sequence) not in sent_here]

    # how long they last

    def restart(self, claim_id: ClaimId) -> None:
        """Start the time of a claim again, if the client has it."""
        if (claim := self._claims.get(claim_id)) is not None:
            claim.deadline = time.monotonic() + claim.work_timeout

    def restart_all(self) -> None:
        for claim_id in self._claims:
            self.restart(claim_id)

    def look_after_overdue(self) -> None:
        """Called by the poll: the reaper may have ended claims whose time is over."""
        if self._overdue():
            self._session.node.run_job_soon(lambda connection: self._forget_ended(connection, self._overdue()))

    def _overdue(self) -> dict[ClaimId, Claim]:
        now = time.monotonic()
        return {claim_id: claim for claim_id, claim in self._claims.items() if claim.deadline <= now}

    # how they end

    def let_go(self, claim_id: ClaimId, index: int | None, attempt: int | None = None) -> int | None:
        """A claim has ended; of this attempt, if it is given. Returns its index, if it was known here."""
        claim = self._claims.get(claim_id)
        if claim is None or index not in (None, claim.index) or attempt not in (None, claim.attempt):
            return index
        del self._claims[claim_id]
        if claim.place_is_free is not None:
            claim.place_is_free()
        return claim.index

    async def forget_ended(self, connection: AsyncConnection[Any]) -> None:
        """An operator has ended claims of this session: their places are free again, now."""
        await self._forget_ended(connection, dict(self._claims))

    async def _forget_ended(self, connection: AsyncConnection[Any], doubtful: dict[ClaimId, Claim]) -> None:
        cursor = await connection.execute(statement("held_by"), {"holder": self._session.session_id})
        held = {(queue_id, sequence): index for queue_id, sequence, index, _, _ in await cursor.fetchall()}
        for claim_id, claim in doubtful.items():
            if held.get(claim_id) != claim.index and self._claims.get(claim_id) is claim:
                self.let_go(claim_id, claim.index)

    def give_back_all(self, done: Callable[[], None]) -> None:
        """The client has gone: each attempt has failed. `done` is called when that is written.

        Only then may the session end. Until it has ended its id cannot be taken up again, so a client that comes back
        never finds claims that are about to fail.
        """
        self._give_back(deque(self._claims.items()), done)

    def _give_back(self, claims: deque[tuple[ClaimId, Claim]], done: Callable[[], None]) -> None:
        """Some of them, and the others when these are written: one client may hold very many."""
        some = [claims.popleft() for _ in range(min(len(claims), GIVEN_BACK_AT_ONCE))]
        left = len(some)
        if not some:
            done()

        def given_back(error: WillowError | None) -> None:
            nonlocal left
            self._given_back(error)
            left -= 1
            if left:
                return
            if claims:  # not called from here: without a database these fail at once, and so do the next ones
                asyncio.get_running_loop().call_soon(self._give_back, claims, done)
            else:
                done()

        for (queue_id, sequence), claim in some:
            self._session.node.engine.end(
                FailRequest(
                    queue_id=queue_id,
                    sequence=sequence,
                    index=claim.index,
                    holder=self._session.session_id,
                    client=self._session.client_name,
                    reason=Reason.DISCONNECTED.value,
                    answer=given_back,
                )
            )

    def give_back_unsent(self, held: Iterable[Any]) -> None:
        """Of what this session holds, give back the messages that never reached the client."""
        known = {claim_id: claim.index for claim_id, claim in self._claims.items()}
        self.release_unsent(row for row in held if known.get((row.queue_id, row.sequence)) != row.index)

    def release_unsent(self, messages: Iterable[Any]) -> None:
        """Nobody has seen these messages, so the attempts do not count."""
        for row in messages:
            self._session.node.engine.end(
                ReleaseRequest(
                    queue_id=row.queue_id,
                    sequence=row.sequence,
                    index=row.index,
                    holder=self._session.session_id,
                    answer=self._given_back,
                )
            )

    def _given_back(self, error: WillowError | None) -> None:
        """Any other error means that the claim has ended already. A database that is gone still has it."""
        if error is not None and error.code == Code.UNAVAILABLE:
            self._session.node.sessions.end_later(self._session.session_id)
