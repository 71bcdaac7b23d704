"""subscribe and unsubscribe: messages are sent as they come, while the subscription has free places."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection

from clients.models import Permission
from clients.statements import statement as client_statement
from delivery.commands.settle import SETTLING
from delivery.engine.lookups import Failed
from delivery.engine.matching import default_match
from delivery.protocol.commands import Subscribe, Unsubscribe
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Subscribed
from delivery.sessions.positions import StartPosition, open_position
from delivery.sessions.readings import terms_size
from delivery.sessions.registration import save_subscription
from delivery.sessions.session import Session
from delivery.sessions.subscription import Subscription, SubscriptionTerms
from delivery.storage.lanes import Job
from queues.definitions import QueueRecord, tag_set

Positions = dict[int, StartPosition]  # by queue


def subscribe(session: Session, command: Subscribe) -> None:
    session.require(Permission.FETCH, command.queue)
    terms = _terms(command)
    alike = session.subscriptions.alike(terms.name, terms.tags, terms.match)
    if alike is not None:
        _take_over(session, alike, terms)
    else:
        _subscribe(session, terms)


def _terms(command: Subscribe) -> SubscriptionTerms:
    tags = tag_set(command.tags)
    return SubscriptionTerms(
        command.label,
        command.queue,
        tags,
        command.match or default_match(tags),
        command.in_flight,
        command.work_timeout,
        command.sync,
        "new" if command.from_ is None else command.from_,
    )


def _subscribe(session: Session, terms: SubscriptionTerms) -> None:
    if len(session.subscriptions) >= settings.WILLOW.connection_commands:
        reason = f"This connection has {len(session.subscriptions)} subscriptions already."
        raise WillowError(Code.OVERLOADED, "connection", reason)
    if (too_long := session.readings.refusal(0, terms_size(terms.name, terms.tags))) is not None:
        raise too_long
    reply = session.reply_to(terms.label)  # also of one that the client ends before its queues are found
    subscription = session.subscriptions.add(terms)

    def found(queues: list[QueueRecord]) -> None:
        if (refusal := session.readings.refusal(len(queues))) is not None:
            failed(refusal)
            return
        try:
            session.node.quotas.admit_readings(session.principal, len(queues))
        except WillowError as error:
            failed(error)
            return
        _write_down(session, terms, queues, opened, failed)

    def opened(positions: Positions) -> None:
        reply.end()
        if not session.closed:
            queues = _tell(session, terms)
            if not subscription.ended:
                subscription.start(queues, positions, session.claims.resumed_without_place())
        go_on()

    def failed(error: WillowError) -> None:
        session.subscriptions.discard(subscription)
        reply.refuse(error)
        go_on()

    def go_on() -> None:
        if holds_back:
            session.held_back.stop()

    holds_back = session.registered is not None  # a post behind it must find the stream's position taken
    if holds_back:
        session.held_back.start(exempt=SETTLING)
    directory = session.node.directory
    session.posts.then(
        terms.name,
        lambda: directory.resolve(terms.name, terms.tags, terms.match, found, failed, session.definer),
    )


def _write_down(
    session: Session,
    terms: SubscriptionTerms,
    queues: list[QueueRecord],
    opened: Callable[[Positions], None],
    failed: Failed,
) -> None:
    """Store the subscription of a registered client, and where it begins in streams, before the client is told.

    So it misses nothing that is posted after that, whatever happens to this node.
    """
    streams = [queue for queue in queues if queue.is_stream]
    refusal = next(filter(None, map(session.subscriptions.stream_refusal, streams)), None)
    if refusal is not None:
        failed(refusal)
        return
    if session.registered is None:
        opened({})
        return
    client_id = session.registered.id

    async def work(connection: AsyncConnection[Any]) -> Positions:
        await save_subscription(connection, client_id, terms)
        found = {stream.id: await open_position(connection, client_id, stream.id, terms.start) for stream in streams}
        return {queue_id: position for queue_id, position in found.items() if position is not None}

    def submit(_: object = None) -> None:
        session.node.jobs.submit(Job(work, opened, failed))

    if session.subscriptions.has_ended(streams):  # what the client acknowledged meanwhile is written first
        session.node.streams.submit(Job(_nothing, submit, submit))
    else:
        submit()


async def _nothing(connection: AsyncConnection[Any]) -> None: ...


def _tell(session: Session, terms: SubscriptionTerms) -> list[QueueRecord]:
    """Answer the command. Returns the queues that the subscription reads now."""
    directory = session.node.directory
    queues = directory.matching(terms.name, terms.tags, terms.match)
    session.send(Subscribed(terms.label, tuple(map(directory.identity_of, queues))))
    return queues


def _take_over(session: Session, subscription: Subscription, terms: SubscriptionTerms) -> None:
    """The connection reads this already, since another `subscribe` or `register`: it goes on as this one says."""
    if session.registered is None:
        subscription.take_over(terms)
        _tell(session, terms)
        return
    reply = session.reply_to(terms.label)
    session.held_back.start(exempt=SETTLING)
    client_id = session.registered.id

    async def work(connection: AsyncConnection[Any]) -> None:
        await save_subscription(connection, client_id, terms)

    def done(_: object) -> None:
        reply.end()
        if not session.closed:
            subscription.take_over(terms)
            _tell(session, terms)
        session.held_back.stop()

    def failed(error: WillowError) -> None:
        reply.refuse(error)
        session.held_back.stop()

    session.node.jobs.submit(Job(work, done, failed))


def unsubscribe(session: Session, command: Unsubscribe) -> None:
    queue_ids = session.subscriptions.end(command.label)
    if session.registered is None:
        return
    parameters = {
        "client": session.registered.id,
        "label": command.label,
        "queue_id": list(queue_ids) if command.forget else [],
    }

    async def drop(connection: AsyncConnection[Any]) -> None:
        await connection.execute(client_statement("drop_subscription"), parameters)

    session.node.run_job_soon(drop)
