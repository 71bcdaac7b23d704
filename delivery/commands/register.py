"""register: a connection becomes a named client, with its subscriptions and outstanding messages of last time."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from delivery.client_records import record_rows
from delivery.commands.subscribe import keep_subscription
from delivery.directory import matches
from delivery.lanes import Job
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Register, Registered
from delivery.registration import Registration
from delivery.registration import register as bind
from delivery.session import RegisteredClient
from delivery.subscriptions import Subscription, Wish
from queues.definitions import QueueRecord

if TYPE_CHECKING:
    from delivery.session import Session


def register(session: "Session", command: Register) -> None:
    if session.registered is not None and session.registered.name != command.name:
        reason = f"This connection is the client {session.registered.name} already."
        raise WillowError(Code.OBJECT_ALREADY_EXISTS, session.registered.name, reason)
    session.began()

    async def work(connection: Any) -> Registration:
        return await bind(
            connection,
            session_id=session.session_id,
            principal=session.principal,
            name=command.name,
            persistent=command.persistent,
        )

    def done(registration: Registration) -> None:
        session.ended()
        if not session.closed:
            _take_up(session, command.label, registration)

    def failed(error: WillowError) -> None:
        session.ended()
        session.refuse(command.label, error)

    session.node.desk.submit(Job(work, done, failed))


def _take_up(session: "Session", label: int | None, registration: Registration) -> None:
    session.registered = RegisteredClient(registration.client_id, registration.name)
    session.send(_frame(label, registration))
    if session.restored:
        return
    session.restored = True
    for subscription in session.subscriptions.values():
        keep_subscription(session, subscription.wish)
    for wish in registration.wishes:
        if wish.label not in session.subscriptions:
            session.subscriptions[wish.label] = Subscription(session, wish)
    _find_queues(session, registration)


def _find_queues(session: "Session", registration: Registration) -> None:
    """Resolve the names of all subscriptions, then start them with what they hold already."""
    names = {wish.name: wish for wish in registration.wishes}
    missing = set(names)
    if not missing:
        _send_again(session, registration, {})
    for name, wish in names.items():

        def resolved(_: Any, name: str = name) -> None:
            missing.discard(name)
            if not missing and not session.closed:
                _start(session, registration)

        session.node.directory.resolve(name, wish.tags, wish.match, resolved, resolved)


def _start(session: "Session", registration: Registration) -> None:
    directory = session.node.directory
    subscriptions = [session.subscriptions[wish.label] for wish in registration.wishes]
    held = _send_again(
        session, registration, {row.queue_id: directory.by_id(row.queue_id) for row in registration.held}
    )
    for subscription in subscriptions:
        wish = subscription.wish
        subscription.start(directory.matching(wish.name, wish.tags, wish.match), held[wish.label])


def _send_again(
    session: "Session", registration: Registration, queues: dict[int, QueueRecord | None]
) -> defaultdict[int | None, list[Any]]:
    """Outstanding messages that belong to no subscription go out at once; the others are returned by label."""
    by_label: defaultdict[int | None, list[Any]] = defaultdict(list)
    for row in session.unknown_to_client(registration.held):
        wish = _wish_for(queues.get(row.queue_id), registration.wishes)
        if wish is None:
            session.hand_over(None, [row])
        else:
            by_label[wish.label].append(row)
    return by_label


def _wish_for(queue: QueueRecord | None, wishes: list[Wish]) -> Wish | None:
    if queue is None:
        return None
    for wish in wishes:
        if wish.name == queue.name and matches(queue.tags, frozenset(wish.tags), wish.match):
            return wish
    return None


def _frame(label: int | None, registration: Registration) -> Registered:
    defined_at = registration.defined_at.isoformat()
    subscribed_to = record_rows(registration.record)
    return Registered(label, registration.name, registration.persistent, defined_at, subscribed_to)
