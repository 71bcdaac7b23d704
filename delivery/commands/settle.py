"""finish, fail and keepalive: commands about the messages that a client holds."""

from collections.abc import Callable
from typing import Any

from clients.models import Permission
from delivery.engine.engine import KeepaliveAllRequest
from delivery.moves.endings import Ending, FailRequest, FinishRequest, KeepaliveRequest, message_key, not_claimed
from delivery.moves.states import Reason
from delivery.protocol.commands import ClaimId, Command, Fail, Finish, Keepalive, Release
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Notice
from delivery.protocol.service_commands import ClientPong, Ping, WorkError, WorkReply
from delivery.sessions.positions import AckRecord
from delivery.sessions.session import Session
from delivery.sessions.stream_reader import StreamReader
from queues.integer_ranges import BIGINT_MAX

# Commands about messages that the client holds. They are in time only if they run before the socket closes.
SETTLING: frozenset[type[Command]] = frozenset(
    {Finish, Fail, Keepalive, Release, WorkReply, WorkError, Ping, ClientPong}
)


def finish(session: Session, command: Finish) -> None:
    reader = reader_of_claim(session, command)
    synchronous = command.response == "sync"
    answer = _answer(session, command, acknowledges=reader is None)
    if reader is not None:
        held = reader.held(command.sequence, command.index, command.attempt)
        if held is not None:
            reader.acknowledge(held, answer, synchronous=synchronous)
        else:
            answer(not_claimed(command.shard, command.sequence))
        return
    request = FinishRequest(**_claim(session, command, answer), synchronous=synchronous, reply=command.reply)
    session.claims.say_group(request)
    request.may_keep_reply = session.node.directory.may_keep_replies(command.shard)
    _submit(session, request)


def fail(session: Session, command: Fail) -> None:
    reader = reader_of_claim(session, command)
    answer = _answer(session, command, acknowledges=False)
    if reader is not None:
        _fail_in_stream(reader, command, answer)
        return
    _submit(
        session,
        FailRequest(
            **_claim(session, command, answer),
            synchronous=command.response == "sync",
            reason=Reason.FAILED.value,
            error=command.error,
            delay=command.delay,
            final=command.final,
        ),
    )


def _fail_in_stream(reader: StreamReader, command: Fail, answer: Callable[[WillowError | None], None]) -> None:
    held = reader.held(command.sequence, command.index, command.attempt)
    if held is None:
        answer(not_claimed(command.shard, command.sequence))
    elif command.final:  # a stream has no dead letters: its reader goes on without the message
        reader.acknowledge(held, answer, synchronous=command.response == "sync")
    else:
        try:
            reader.fail(held, command.delay)
        except WillowError as error:
            answer(error)
        else:
            answer(None)


def keepalive(session: Session, command: Keepalive) -> None:
    if command.queue is None or command.shard is None or command.sequence is None:
        _keep_all_alive(session, command)
        return
    reader = reader_of_claim(session, command)
    answer = _keepalive_answer(session, command)
    if reader is not None:
        held = reader.held(command.sequence, command.index, command.attempt)
        if held is not None:
            reader.keep_alive(held)
        answer(None if held else not_claimed(command.shard, command.sequence))
        return
    claim = _claim(session, command, answer)
    del claim["client"]
    _submit(session, KeepaliveRequest(**claim))


def _keep_all_alive(session: Session, command: Keepalive) -> None:
    answer = _keepalive_answer(session, command)

    def answered(error: WillowError | None) -> None:
        if error is None:
            session.restart_claims()
        answer(error)

    session.node.engine.end(KeepaliveAllRequest(session.session_id, session.claims.queue_ids(), answered))


def reader_of_claim(session: Session, command: Finish | Fail | Keepalive | ClaimId) -> StreamReader | None:
    """Refuse at once what cannot be a claim. Returns the reader of the stream, if the message is in one."""
    name, shard, sequence = command.queue or "", command.shard or 0, command.sequence or 0
    session.require(Permission.FETCH, name)
    queue = session.node.directory.by_id(shard)
    impossible = max(shard, sequence, command.index or 0) > BIGINT_MAX
    if impossible or (queue is not None and queue.name != name):
        key = message_key(shard, sequence)
        raise WillowError(Code.NO_OBJECT, key, f"There is no message {key} in the queue {name}.")
    return session.subscriptions.stream(shard)


def _submit(session: Session, request: Ending) -> None:
    """Commands about one message keep their order, though the engine takes finishes before failures."""
    session.claims.commands.run((request.queue_id, request.sequence), lambda: session.node.engine.end(request))


def _claim(session: Session, command: Any, answer: Callable[[WillowError | None], None]) -> dict[str, Any]:
    def answered(error: WillowError | None) -> None:
        answer(error)
        session.claims.commands.is_over((command.shard, command.sequence))

    return {
        "queue_id": command.shard,
        "sequence": command.sequence,
        "index": session.claims.index_of((command.shard, command.sequence), command.index),
        "attempt": command.attempt,
        "holder": session.session_id,
        "client": session.client_name,
        "answer": answered,
    }


def _answer(session: Session, command: Finish | Fail, *, acknowledges: bool) -> Callable[[WillowError | None], None]:
    reply = session.reply_to(command.label, command.reply if isinstance(command, Finish) else None)

    def answer(error: WillowError | None) -> None:
        if error is not None and error.code == Code.UNAVAILABLE:
            reply.refuse(error)
            return
        # Refused or not, the claim has ended, if it was this session's at all. A later attempt's has not.
        attempt = None if error is None else command.attempt
        index = session.claims.let_go((command.shard, command.sequence), command.index, attempt)
        if error is not None:
            reply.refuse(error)
            return
        if acknowledges and session.registered is not None and index is not None:
            session.node.streams.submit(AckRecord(session.registered.id, command.shard, index))
        if command.response is not None:
            reply.send(Notice(command.label, command.response, command.shard, command.sequence, index))
        else:
            reply.end()

    return answer


def _keepalive_answer(session: Session, command: Keepalive) -> Callable[[WillowError | None], None]:
    reply = session.reply_to(command.label)

    def answer(error: WillowError | None) -> None:
        if error is not None:
            reply.refuse(error)
            return
        session.claims.restart((command.shard or 0, command.sequence or 0))
        if command.label is not None:
            reply.send(Notice(command.label, "keepalive", command.shard, command.sequence, command.index))
        else:
            reply.end()

    return answer
