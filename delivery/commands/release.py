"""release: a client gives back messages that it has not begun to work on."""

from collections.abc import Callable, Iterator, Sequence

from delivery.commands.settle import reader_of_claim
from delivery.moves.endings import ReleaseRequest, not_claimed
from delivery.protocol.commands import ClaimId, Release
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Notice
from delivery.sessions.claims import HeldClaim
from delivery.sessions.session import Session

RELEASED_AT_ONCE = 64  # messages, before the event loop looks whether it is the turn of others


class Releasing:
    """One command, until each of its messages is released or refused."""

    def __init__(self, session: Session, command: Release, messages: int) -> None:
        self._session = session
        self._command = command
        self._missing = messages
        self._released: list[Notice] = []
        self._refused = 0
        self._reply = session.reply_to(command.label)

    def released(self, queue_id: int, sequence: int, index: int | None) -> None:
        self._released.append(Notice(self._command.label, "write", queue_id, sequence, index))
        self._one_less()

    def refused(self, error: WillowError) -> None:
        self._refused += 1
        self._session.refuse(self._command.label, error)
        self._one_less()

    def gone(self) -> None:
        """Of all that the client holds, one was not held any more."""
        self._one_less()

    def _one_less(self) -> None:
        self._missing -= 1
        self.end_if_complete()

    def end_if_complete(self) -> None:
        if self._missing > 0:
            return
        response = self._command.response
        if response is None or (self._refused and not self._released):
            self._reply.end()
        elif len(self._command.messages) == 1:
            [one] = self._released
            self._reply.send(Notice(one.label, response, one.shard, one.sequence, one.index))
        else:
            self._reply.send(Notice(self._command.label, response))


def release(session: Session, command: Release) -> Iterator[None]:
    if command.messages:
        return _release_named(session, command, command.messages)
    return _release_all(session, command)


def _release_named(session: Session, command: Release, messages: Sequence[ClaimId]) -> Iterator[None]:
    releasing = Releasing(session, command, len(messages))
    for number, message in enumerate(messages, 1):
        try:
            _release_one(session, command, message, releasing)
        except WillowError as error:
            releasing.refused(error)
        if number % RELEASED_AT_ONCE == 0:
            yield


def _release_one(session: Session, command: Release, message: ClaimId, releasing: Releasing) -> None:
    reader = reader_of_claim(session, message)
    if reader is None:
        index = session.claims.index_of((message.shard, message.sequence), message.index)
        claim = HeldClaim(message.shard, message.sequence, index, message.attempt)
        _submit(session, command, claim, releasing, releasing.refused)
    elif (held := reader.held(message.sequence, message.index, message.attempt)) is not None:
        reader.release(held)
        releasing.released(message.shard, message.sequence, held.index)
    else:
        raise not_claimed(message.shard, message.sequence)


def _release_all(session: Session, command: Release) -> Iterator[None]:
    """A claim that ended meanwhile needs no word."""
    session.subscriptions.release_all()
    claims, held = session.claims.held(), len(session.claims)
    releasing = Releasing(session, command, held)

    def refused(error: WillowError) -> None:
        if error.code == Code.UNAVAILABLE:
            releasing.refused(error)
        else:
            releasing.gone()

    for number, claim in enumerate(claims, 1):
        _submit(session, command, claim, releasing, refused)
        if number % RELEASED_AT_ONCE == 0:
            yield
    if not held:
        releasing.end_if_complete()


def _submit(
    session: Session,
    command: Release,
    claim: HeldClaim,
    releasing: Releasing,
    refused: Callable[[WillowError], None],
) -> None:
    claim_id = (claim.queue_id, claim.sequence)
    session.under_way.began()  # each of them, like a command of its own

    def answer(error: WillowError | None) -> None:
        session.under_way.ended()
        if error is None:
            index = session.claims.let_go(claim_id, claim.index)
            releasing.released(claim.queue_id, claim.sequence, index)
        else:
            if error.code != Code.UNAVAILABLE:
                session.claims.let_go(claim_id, claim.index, claim.attempt)
            refused(error)
        session.claims.commands.is_over(claim_id)

    request = ReleaseRequest(
        queue_id=claim.queue_id,
        sequence=claim.sequence,
        index=claim.index,
        attempt=claim.attempt,
        holder=session.session_id,
        answer=answer,
        synchronous=command.response == "sync",
    )
    session.claims.commands.run(claim_id, lambda: session.node.engine.end(request))
