"""create: a queue with the settings that the client chose, unless it exists already."""

from typing import TYPE_CHECKING

from clients.models import Permission
from delivery.commands.unsupported import refuse_unsupported
from delivery.protocol.errors import WillowError
from delivery.protocol.frames import Create, QueueInfo
from queues.definitions import SETTING_NAMES, QueueRecord, tag_set

if TYPE_CHECKING:
    from delivery.sessions.session import Session


def create(session: "Session", command: Create) -> None:
    refuse_unsupported(command)
    session.require(Permission.CREATE, command.queue)
    chosen = {name: getattr(command, name) for name in SETTING_NAMES}
    session.began()

    def created(queue: QueueRecord, is_new: bool) -> None:
        session.ended()
        session.send(_queue_info(command.label, queue, is_new))

    def failed(error: WillowError) -> None:
        session.ended()
        session.refuse(command.label, error)

    session.node.directory.create(command.queue, tag_set(command.tags), chosen, created, failed)


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
