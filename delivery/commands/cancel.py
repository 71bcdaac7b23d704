"""cancel: a poster takes back a message that nobody holds."""

from clients.models import Permission
from delivery.moves.cancelling import CancelRequest, not_cancellable
from delivery.protocol.commands import Cancel
from delivery.protocol.frames import Notice
from delivery.sessions.session import Session
from queues.integer_ranges import BIGINT_MAX


def cancel(session: Session, command: Cancel) -> None:
    session.require(Permission.POST, command.queue)
    queue = session.node.directory.by_id(command.shard)
    impossible = max(command.shard, command.index) > BIGINT_MAX
    if impossible or (queue is not None and queue.name != command.queue):
        raise not_cancellable(command.shard, command.index)
    reply = session.reply_to(command.label)

    def done(sequence: int) -> None:
        reply.send(Notice(command.label, "write", command.shard, sequence, command.index))

    session.node.engine.end(
        CancelRequest(
            queue_id=command.shard,
            index=command.index,
            session=session.session_id,
            key=session.principal.key_id,
            done=done,
            refused=reply.refuse,
        )
    )
