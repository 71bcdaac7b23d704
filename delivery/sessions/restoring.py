"""A client came back: it reads again what it read in its last session, and gets again what it held."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from delivery.engine.matching import matches
from delivery.moves.service_names import is_service_queue
from delivery.protocol.errors import WillowError
from delivery.sessions.claims import ClaimId
from delivery.sessions.subscription import Subscription, SubscriptionTerms
from delivery.storage.connection import fetch_rows
from delivery.storage.lanes import Job
from delivery.storage.statements import statement
from queues.definitions import QueueRecord

if TYPE_CHECKING:
    from delivery.sessions.session import Session


def send_again(session: "Session") -> None:
    """It came back with its id: send what it holds, with the label null. What cannot be read now stays claimed."""

    async def read(connection: AsyncConnection[Any]) -> list[Any]:
        return await fetch_rows(connection, statement("held_messages"), {"holder": session.session_id})

    def send(held: Sequence[Any]) -> None:
        messages = [row for row in held if not is_service_queue(row.queue_name)]  # requests go to their worker
        restore(session, all_terms=[], held=messages, done=lambda: None)

    session.node.jobs.submit(Job(read, send, _stays_claimed))


def _stays_claimed(error: WillowError) -> None: ...


def restore(
    session: "Session", *, all_terms: Iterable[SubscriptionTerms], held: Sequence[Any], done: Callable[[], None]
) -> None:
    """It has registered: learn the queues that it reads or holds messages of, then start its subscriptions.

    `held` are rows of held_messages.sql.
    """
    reads = session.subscriptions
    new_terms = [terms for terms in all_terms if reads.alike(terms.name, terms.tags, terms.match) is None]
    subscriptions = [reads.add(terms) for terms in new_terms]
    unknown = {terms.name for terms in new_terms} | {row.queue_name for row in held}

    def resolved(name: str, _: object) -> None:
        unknown.discard(name)
        if not unknown:
            start()

    def start() -> None:
        if session.closed:
            done()
        else:
            _start(session, subscriptions, held, done)

    if not unknown:
        start()
    for name in list(unknown):
        known = partial(resolved, name)
        session.node.directory.resolve(name, (), "strict", known, known)  # finds all queues that exist, makes none


def _start(
    session: "Session", subscriptions: Sequence[Subscription], held: Sequence[Any], done: Callable[[], None]
) -> None:
    directory = session.node.directory
    again = [
        (row, _reader_of(directory.by_id(row.queue_id), subscriptions)) for row in session.claims.not_sent_here(held)
    ]
    session.claims.will_be_sent(row for row, _ in again)
    taken: defaultdict[Subscription, list[ClaimId]] = defaultdict(list)
    for row, subscription in again:
        if subscription is not None:
            taken[subscription].append((row.queue_id, row.sequence))

    def begin() -> None:
        for subscription in subscriptions if not session.closed else ():
            terms = subscription.terms
            queues = directory.matching(terms.name, terms.tags, terms.match)
            subscription.start(queues, {}, taken[subscription])
        done()

    session.resending.add(again, begin)


def _reader_of(queue: QueueRecord | None, subscriptions: Sequence[Subscription]) -> Subscription | None:
    if queue is None:
        return None
    for subscription in subscriptions:
        terms = subscription.terms
        if terms.name == queue.name and matches(queue.tags, frozenset(terms.tags), terms.match):
            return subscription
    return None
