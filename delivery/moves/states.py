"""Every legal move between the states of a live message: the one table that all statements are held to."""

from dataclasses import dataclass

from delivery.storage.vocabulary import Outcome, Reason, State

__all__ = ["MOVES", "Move", "Outcome", "Reason", "State"]


@dataclass(frozen=True, slots=True)
class Move:
    """A legal change: the statement that makes it, where it may start (nowhere: a new message), where it leads
    (nowhere: the message's life in its queue ends)."""

    statement: str
    starts: frozenset[State] = frozenset()
    leads_to: frozenset[State] = frozenset()


UNCLAIMED = frozenset({State.READY, State.DELAYED})

MOVES = (
    Move("post", leads_to=UNCLAIMED | {State.RETAINED, State.CLAIMED}),  # claimed: for somebody who waits already
    Move("post_to_one", leads_to=UNCLAIMED | {State.RETAINED, State.CLAIMED}),
    Move("post_once", leads_to=UNCLAIMED | {State.RETAINED, State.CLAIMED}),
    Move("post_once_to_one", leads_to=UNCLAIMED | {State.RETAINED, State.CLAIMED}),
    Move("post_one", leads_to=UNCLAIMED | {State.RETAINED, State.CLAIMED}),
    Move("post_with", leads_to=UNCLAIMED | {State.RETAINED, State.CLAIMED}),
    Move("replace", starts=UNCLAIMED, leads_to=UNCLAIMED),
    Move("come_due", starts=frozenset({State.DELAYED}), leads_to=frozenset({State.READY})),
    Move("claim", starts=frozenset({State.READY}), leads_to=frozenset({State.CLAIMED})),
    Move("claim_from_one", starts=frozenset({State.READY}), leads_to=frozenset({State.CLAIMED})),
    Move("claim_across", starts=frozenset({State.READY}), leads_to=frozenset({State.CLAIMED})),
    Move("assign", starts=frozenset({State.READY}), leads_to=frozenset({State.CLAIMED})),
    Move("pop", starts=frozenset({State.READY})),
    Move("finish", starts=frozenset({State.CLAIMED})),
    Move("finish_keeping", starts=frozenset({State.CLAIMED})),
    Move("finish_one", starts=frozenset({State.CLAIMED})),
    Move("retry", starts=frozenset({State.CLAIMED}), leads_to=UNCLAIMED),
    Move("release", starts=frozenset({State.CLAIMED}), leads_to=frozenset({State.READY})),
    Move("cancel", starts=UNCLAIMED),
    Move("bury", starts=UNCLAIMED | {State.CLAIMED}),
    Move("drop_oldest", starts=UNCLAIMED | {State.RETAINED}),
    Move("retain_streams", starts=frozenset({State.RETAINED})),
    Move("drop", starts=frozenset(State)),
    Move("retry_now", starts=frozenset({State.DELAYED}), leads_to=frozenset({State.READY})),
    Move("reprioritise", starts=UNCLAIMED, leads_to=UNCLAIMED),
    Move("rewrite", starts=UNCLAIMED, leads_to=UNCLAIMED),
    Move("take_out", starts=UNCLAIMED),
)
