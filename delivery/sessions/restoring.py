"""A client has registered: it reads again what it read in its last session, and gets again what it held."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from delivery.engine.matching import matches
from delivery.sessions.subscription import Subscription, SubscriptionTerms
from queues.definitions import QueueRecord

if TYPE_CHECKING:
    from delivery.sessions.session import Session


def restore(
    session: "Session", *, all_terms: Iterable[SubscriptionTerms], held: Sequence[Any], done: Callable[[], None]
) -> None:
    """Learn the queues that the client reads or holds messages of, then start its subscriptions."""
    new_terms = [terms for terms in all_terms if terms.label not in session.subscriptions]
    subscriptions = [session.subscriptions.add(terms) for terms in new_terms]
    unknown = {terms.name for terms in new_terms} | {row.queue_name for row in held}

    def resolved(name: str, _: object) -> None:
        unknown.discard(name)
        if not unknown:
            start()

    def start() -> None:
        if not session.closed:
            _start(session, subscriptions, held)
        done()

    if not unknown:
        start()
    for name in list(unknown):
        known = partial(resolved, name)
        session.node.directory.resolve(name, (), "strict", known, known)  # finds all queues that exist, makes none


def _start(session: "Session", subscriptions: Sequence[Subscription], held: Sequence[Any]) -> None:
    by_subscription: defaultdict[Subscription, list[Any]] = defaultdict(list)
    directory = session.node.directory
    for row in session.claims.not_sent_here(held):
        subscription = _reader_of(directory.by_id(row.queue_id), subscriptions)
        if subscription is None:
            session.claims.hand_over(None, [row])
        else:
            by_subscription[subscription].append(row)
    for subscription in subscriptions:
        terms = subscription.terms
        queues = directory.matching(terms.name, terms.tags, terms.match)
        subscription.start(queues, {}, by_subscription[subscription])


def _reader_of(queue: QueueRecord | None, subscriptions: Sequence[Subscription]) -> Subscription | None:
    if queue is None:
        return None
    for subscription in subscriptions:
        terms = subscription.terms
        if terms.name == queue.name and matches(queue.tags, frozenset(terms.tags), terms.match):
            return subscription
    return None
