"""create: a queue with the settings that the client chose, unless it exists already."""

from clients.models import Permission
from delivery.protocol.commands import Create
from delivery.protocol.frames import QueueInfo
from delivery.sessions.session import Session
from queues.definitions import SETTING_NAMES, QueueRecord, tag_set


def create(session: Session, command: Create) -> None:
    session.require(Permission.CREATE, command.queue)
    chosen = {name: getattr(command, name) for name in SETTING_NAMES}
    reply = session.reply_to(command.label)

    def created(queue: QueueRecord, is_new: bool) -> None:
        reply.send(_queue_info(command.label, queue, is_new))

    session.node.directory.create(command.queue, tag_set(command.tags), chosen, created, reply.refuse, session.definer)


def _queue_info(label: int | None, queue: QueueRecord, created: bool) -> QueueInfo:
    return QueueInfo(
        label=label,
        name=queue.name,
        tags=queue.tags,
        shard=queue.id,
        created=created,
        paused=queue.paused,
        **{name: getattr(queue.settings, name) for name in SETTING_NAMES},
    )
