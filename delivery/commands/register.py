"""register: a connection becomes a named client, with its subscriptions and outstanding messages of last time."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from delivery.engine.queues import matches
from delivery.figures.clients import record_rows
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Register, Registered
from delivery.sessions.registration import Registration
from delivery.sessions.registration import register as bind
from delivery.sessions.session import RegisteredClient
from delivery.sessions.subscriptions import Subscription, Wish
from delivery.storage.lanes import Job
from queues.definitions import QueueRecord

if TYPE_CHECKING:
    from delivery.sessions.session import Session


def register(session: "Session", command: Register) -> None:
    if session.closed:
        return  # it was held back, and nobody is there to be the client
    if session.registered is not None and session.registered.name != command.name:
        reason = f"This connection is the client {session.registered.name} already."
        raise WillowError(Code.OBJECT_ALREADY_EXISTS, session.registered.name, reason)
    session.began()
    session.hold_back()

    async def work(connection: Any) -> Registration:
        return await bind(
            connection,
            session_id=session.session_id,
            principal=session.principal,
            name=command.name,
            persistent=command.persistent,
            reads=[subscription.wish for subscription in session.subscriptions.values()],
        )

    def done(registration: Registration) -> None:
        if session.closed:
            _is_over(session)  # what the client posted after it is still to be stored
        else:
            _take_up(session, command.label, registration)

    def failed(error: WillowError) -> None:
        session.refuse(command.label, error)
        _is_over(session)

    session.node.desk.submit(Job(work, done, failed))


def _is_over(session: "Session") -> None:
    session.go_on()
    session.ended()


def _take_up(session: "Session", label: int | None, registration: Registration) -> None:
    session.registered = RegisteredClient(registration.client_id, registration.name)
    session.send(_frame(label, registration))
    if session.restored:
        _is_over(session)
        return
    session.restored = True
    wishes = [wish for wish in registration.wishes if wish.label not in session.subscriptions]
    for wish in wishes:
        session.subscriptions[wish.label] = Subscription(session, wish)
    _find_queues(session, wishes, registration.held)


def _find_queues(session: "Session", wishes: list[Wish], held: Sequence[Any]) -> None:
    """Learn the queues that the client reads or holds messages of, then start what it reads."""
    missing = {wish.name for wish in wishes} | {row.queue_name for row in held}

    def resolved(name: str, _: object) -> None:
        missing.discard(name)
        if missing:
            return
        if session.closed:
            _is_over(session)
        else:
            _start(session, wishes, held)

    if not missing:
        _start(session, wishes, held)
    for name in list(missing):
        known = partial(resolved, name)
        session.node.directory.resolve(name, (), "strict", known, known)  # all that are there; it makes none


def _start(session: "Session", wishes: list[Wish], held: Sequence[Any]) -> None:
    directory = session.node.directory
    by_label = _send_again(session, wishes, held)
    for wish in wishes:
        queues = directory.matching(wish.name, wish.tags, wish.match)
        session.subscriptions[wish.label].start(queues, {}, by_label[wish.label])
    _is_over(session)


def _send_again(session: "Session", wishes: list[Wish], held: Sequence[Any]) -> defaultdict[int | None, list[Any]]:
    """Outstanding messages that belong to no subscription go out at once; the others are returned by label."""
    by_label: defaultdict[int | None, list[Any]] = defaultdict(list)
    for row in session.unknown_to_client(held):
        wish = _wish_for(session.node.directory.by_id(row.queue_id), wishes)
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
