"""post: find the queues, then hand the message to the engine. Notices follow as the message moves."""

from typing import TYPE_CHECKING, Any

from clients.models import Permission
from delivery.posting import PostRequest
from delivery.protocol.frames import Post
from queues.definitions import QueueRecord, tag_set

if TYPE_CHECKING:
    from delivery.session import Session


def post(session: "Session", command: Post) -> None:
    for name in command.queues:
        session.require(Permission.POST, name)
    submit_post(session, command, tag_set(command.tags) if command.tags else ())


def submit_post(session: "Session", command: Post, tags: tuple[str, ...], **how: Any) -> None:
    """`how` are the keywords of a PostRequest."""
    session.began()
    session.posts.began(command.queues)
    _find_and_post(session, command, tags, [], how)


def _find_and_post(
    session: "Session", command: Post, tags: tuple[str, ...], found: list[QueueRecord], how: dict[str, Any]
) -> None:
    """Find the queues one after the other, then post to all of them."""
    directory = session.node.directory
    while len(found) < len(command.queues):
        name = command.queues[len(found)]
        queue = directory.known(name, tags)
        if queue is None:
            directory.resolve(
                name,
                tags,
                "exact",
                lambda queues: _find_and_post(session, command, tags, [*found, *queues], how),
                lambda error: session.posts.ended(command, error),
            )
            return
        found.append(queue)
    session.node.engine.post(PostRequest(session.posts, command, found, **how))
