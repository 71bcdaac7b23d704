"""post: find the queues, then hand the message to the engine. Notices follow as the message moves."""

from typing import TYPE_CHECKING, Any

from clients.models import Permission
from delivery.posting import PostRequest
from delivery.protocol.frames import Post
from queues.definitions import tag_set

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
    session.node.directory.find_each(
        command.queues,
        tags,
        lambda queues: session.node.engine.post(PostRequest(session.posts, command, queues, **how)),
        lambda error: session.posts.ended(command, error),
    )
