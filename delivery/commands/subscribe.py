"""subscribe and unsubscribe: messages come by themselves, as long as places are free."""

from typing import TYPE_CHECKING, Any

from django.conf import settings
from psycopg import AsyncConnection

from clients.models import Permission
from clients.statements import statement as client_statement
from delivery.directory import default_match
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import QueueIdentity, Subscribe, Subscribed, Unsubscribe
from delivery.subscriptions import Subscription, Wish, stream_needs_registration
from queues.definitions import QueueRecord, tag_set

if TYPE_CHECKING:
    from delivery.session import Session


def subscribe(session: "Session", command: Subscribe) -> None:
    session.require(Permission.FETCH, command.queue)
    if command.label in session.subscriptions:
        reason = f"This connection has a subscription with the label {command.label} already."
        raise WillowError(Code.OBJECT_ALREADY_EXISTS, str(command.label), reason)
    if len(session.subscriptions) >= settings.WILLOW.connection_commands:
        reason = f"This connection has {len(session.subscriptions)} subscriptions already."
        raise WillowError(Code.OVERLOADED, "connection", reason)
    tags = tag_set(command.tags)
    wish = Wish(
        command.label,
        command.queue,
        tags,
        command.match or default_match(tags),
        command.in_flight,
        command.work_timeout,
        command.sync,
        "new" if command.from_ is None else command.from_,
    )
    subscription = Subscription(session, wish)
    session.subscriptions[wish.label] = subscription

    def found(queues: list[QueueRecord]) -> None:
        if not subscription.ended and not session.closed:
            _begin(session, subscription, queues)

    def failed(error: WillowError) -> None:
        session.subscriptions.pop(wish.label, None)
        session.refuse(wish.label, error)

    directory = session.node.directory
    session.posts.then(wish.name, lambda: directory.resolve(wish.name, tags, wish.match, found, failed))


def _begin(session: "Session", subscription: Subscription, queues: list[QueueRecord]) -> None:
    wish = subscription.wish
    stream = next((queue for queue in queues if queue.is_stream), None)
    if stream is not None and (session.registered is None or stream.id in session.streams):
        del session.subscriptions[wish.label]
        session.refuse(wish.label, _why_not(session, stream))
        return
    identities = tuple(QueueIdentity(queue.name, queue.tags, queue.id) for queue in queues)
    session.send(Subscribed(wish.label, identities))
    subscription.start(queues)
    if session.registered is not None:
        keep_subscription(session, wish)


def _why_not(session: "Session", stream: QueueRecord) -> WillowError:
    if session.registered is None:
        return stream_needs_registration(stream.name)
    reason = f"Another subscription of this client reads the stream {stream.name} already."
    return WillowError(Code.OBJECT_ALREADY_EXISTS, stream.name, reason)


def keep_subscription(session: "Session", wish: Wish) -> None:
    """Write the subscription down, for when the client comes back."""
    assert session.registered is not None
    parameters = {
        "client": session.registered.id,
        "label": wish.label,
        "name": wish.name,
        "tags": list(wish.tags),
        "match": wish.match,
        "in_flight": wish.in_flight,
        "work_timeout": wish.work_timeout,
        "sync": wish.sync,
    }

    async def save(connection: AsyncConnection[Any]) -> None:
        await connection.execute(client_statement("save_subscription"), parameters)

    session.node.on_desk_soon(save)


def unsubscribe(session: "Session", command: Unsubscribe) -> None:
    subscription = session.subscriptions.pop(command.label, None)
    if subscription is None:
        reason = f"This connection has no subscription with the label {command.label}."
        raise WillowError(Code.NO_OBJECT, str(command.label), reason)
    subscription.end()
    if session.registered is None:
        return
    for queue_id in subscription.queues:
        session.streams.pop(queue_id, None)
    parameters = {
        "client": session.registered.id,
        "label": command.label,
        "queue_id": list(subscription.queues),
    }

    async def drop(connection: AsyncConnection[Any]) -> None:
        await connection.execute(client_statement("drop_subscription"), parameters)

    session.node.on_desk_soon(drop)
