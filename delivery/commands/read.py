"""fetch and pop: one answer each, at once or when a message comes."""

from typing import Any

from clients.models import Permission
from delivery.engine.demands import Demand
from delivery.engine.matching import default_match
from delivery.protocol.commands import Fetch, Pop
from delivery.protocol.errors import Code, WillowError
from delivery.sessions.readings import terms_size
from delivery.sessions.session import Session
from queues.definitions import QueueRecord, tag_set


def fetch(session: Session, command: Fetch) -> None:
    _read(
        session,
        command,
        command.block_timeout,
        work_timeout=command.work_timeout,
        synchronous=command.sync == "sync",
    )


def pop(session: Session, command: Pop) -> None:
    _read(session, command, command.timeout or 0.0, pops=True)


def _read(session: Session, command: Fetch | Pop, wait_seconds: float, **how: Any) -> None:
    session.require(Permission.FETCH, command.queue)
    reply = session.reply_to(command.label)  # it is under way until its queues are found
    tags = tag_set(command.tags)
    match = command.match or default_match(tags)
    directory = session.node.directory

    def found(queues: list[QueueRecord]) -> None:
        reply.end()
        if session.closed:
            return
        work_queues = [queue for queue in queues if not queue.is_stream]
        if queues and not work_queues:
            session.refuse(command.label, stream_is_subscribed_to(command.queue))
            return
        demand = Demand(
            session.reads,
            command.label,
            work_queues,
            places=command.count or 1,
            counts=command.count is not None,
            rotation=session.reads.rotation(command.queue, tags) if match == "any" else None,
            caller=session.caller,
            **how,
        )
        watches = wait_seconds > 0 and match != "exact"
        try:
            waits = session.reads.begin(demand, wait_seconds, terms_size(command.queue, tags) if watches else 0)
        except WillowError as error:
            session.refuse(command.label, error)
            return
        if waits and watches:
            watch = directory.watch(command.queue, tags, match, lambda queue: session.reads.join(demand, queue))
            demand.when_ended = lambda: directory.unwatch(watch)

    def look() -> None:
        directory.resolve(command.queue, tags, match, found, reply.refuse, session.definer)

    session.posts.then(command.queue, look)


def stream_is_subscribed_to(name: str) -> WillowError:
    return WillowError(Code.BAD_REQUEST, "queue", f"The queue {name} is a stream: it is read by `subscribe`.")
