"""post: find the queues, then hand the message to the engine. Notices follow as the message moves."""

from collections.abc import Sequence

from clients.models import Permission
from delivery.commands.settle import SETTLING
from delivery.moves.posting import PostRequest
from delivery.moves.service_names import stream_is_no_service
from delivery.protocol.commands import Post
from delivery.protocol.errors import WillowError
from delivery.protocol.sizes import bytes_of_copy
from delivery.sessions.session import Session
from queues.definitions import QueueRecord, tag_set


def post(session: Session, command: Post) -> None:
    for name in command.queues:
        session.require(Permission.POST, name)
    submit_post(session, command, tag_set(command.tags) if command.tags else ())


def submit_post(
    session: Session,
    command: Post,
    tags: tuple[str, ...],
    *,
    awaits_reply: bool = False,
    work_timeout: float | None = None,
) -> None:
    size = bytes_of_copy(command)
    session.node.quotas.admit_post(session.principal, size, len(command.queues))
    session.posts.began(command, size * len(command.queues))
    directory = session.node.directory
    if len(command.queues) == 1 and (queue := directory.known(command.queues[0], tags)) is not None:
        _submit(session, command, (queue,), awaits_reply, work_timeout)  # nearly every post: there is nothing to find
        return
    # The directory keeps the order of posts that wait for one name. A post that waits for several could be overtaken.
    holds_back = len(command.queues) > 1 and not all(directory.known(name, tags) for name in command.queues)

    def failed(error: WillowError) -> None:
        session.posts.ended(command, error)
        if holds_back:
            session.held_back.stop()

    def found(queues: Sequence[QueueRecord]) -> None:
        _submit(session, command, queues, awaits_reply, work_timeout)
        if holds_back:
            session.held_back.stop()

    if holds_back:
        session.held_back.start(exempt=SETTLING)
    directory.find_each(command.queues, tags, found, failed, by=session.definer)


def _submit(
    session: Session, command: Post, queues: Sequence[QueueRecord], awaits_reply: bool, work_timeout: float | None
) -> None:
    if awaits_reply and queues[0].is_stream:
        session.posts.ended(command, stream_is_no_service(queues[0].name, field="service"))
        return
    request = PostRequest(session.posts, command, queues, awaits_reply=awaits_reply, work_timeout=work_timeout)
    session.node.engine.post(request)
    if awaits_reply and command.ttl is not None:
        session.node.engine.expiries.expect(queues[0].id, command.ttl)
