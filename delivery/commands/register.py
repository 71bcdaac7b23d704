"""register: a connection becomes a named client, with its subscriptions and outstanding messages of last time."""

from typing import Any

from delivery.figures.clients import record_rows
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Register, Registered
from delivery.sessions.registration import Registration
from delivery.sessions.registration import register as bind
from delivery.sessions.restoring import restore
from delivery.sessions.session import RegisteredClient, Session
from delivery.storage.lanes import Job


def register(session: Session, command: Register) -> None:
    if session.closed:
        return  # it was held back, and its client has gone
    if session.registered is not None and session.registered.name != command.name:
        reason = f"This connection is the client {session.registered.name} already."
        raise WillowError(Code.OBJECT_ALREADY_EXISTS, session.registered.name, reason)
    reply = session.reply_to(command.label)
    session.held_back.start()

    async def work(connection: Any) -> Registration:
        return await bind(
            connection,
            session_id=session.session_id,
            principal=session.principal,
            name=command.name,
            persistent=command.persistent,
            reads=session.subscriptions.wishes(),
        )

    def done(registration: Registration) -> None:
        if session.closed:
            is_over()  # what the client posted after it is still to be stored
            return
        first_time = session.register_as(RegisteredClient(registration.client_id, registration.name))
        session.send(_frame(command.label, registration))
        if first_time:
            restore(session, registration, is_over)
        else:
            is_over()

    def failed(error: WillowError) -> None:
        reply.refuse(error)
        session.held_back.stop()

    def is_over() -> None:
        session.held_back.stop()
        reply.end()

    session.node.desk.submit(Job(work, done, failed))


def _frame(label: int | None, registration: Registration) -> Registered:
    defined_at = registration.defined_at.isoformat()
    subscribed_to = record_rows(registration.record)
    return Registered(label, registration.name, registration.persistent, defined_at, subscribed_to)
