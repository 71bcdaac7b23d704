"""Every legal move between the states of a live message: the one table that all statements are held to."""

from dataclasses import dataclass

from delivery.storage.vocabulary import Outcome, Reason, State

__all__ = ["MOVES", "UNCLAIMED", "Move", "Outcome", "Reason", "State"]


@dataclass(frozen=True, slots=True)
class Move:
    """A legal change: the statement that makes it, where it may start (nowhere: a new message), where it leads
    (nowhere: the message's life in its queue ends)."""

    statement: str
    starts: frozenset[State] = frozenset()
    leads_to: frozenset[State] = frozenset()


UNCLAIMED = frozenset({State.READY, State.DELAYED, State.BEHIND})
MAY_GO = frozenset({State.READY, State.BEHIND})  # behind: as soon as others of its group have gone
POSTED = frozenset({State.READY, State.DELAYED, State.RETAINED, State.CLAIMED})  # claimed: for somebody who waits

MOVES = (
    Move("post", leads_to=POSTED),
    Move("post_to_one", leads_to=POSTED),
    Move("post_once", leads_to=POSTED),
    Move("post_once_to_one", leads_to=POSTED),
    Move("post_one", leads_to=POSTED),
    Move("post_one_once", leads_to=POSTED),
    Move("post_with", leads_to=POSTED | {State.BEHIND}),
    Move("replace", starts=UNCLAIMED, leads_to=UNCLAIMED),
    Move("come_due", starts=frozenset({State.DELAYED}), leads_to=MAY_GO),
    Move("arrange_groups", starts=MAY_GO, leads_to=MAY_GO),
    Move("claim", starts=frozenset({State.READY}), leads_to=frozenset({State.CLAIMED})),
    Move("claim_from_one", starts=frozenset({State.READY}), leads_to=frozenset({State.CLAIMED})),
    Move("claim_limited", starts=MAY_GO, leads_to=frozenset({State.CLAIMED})),
    Move("claim_across", starts=MAY_GO, leads_to=frozenset({State.CLAIMED})),
    Move("assign", starts=frozenset({State.READY}), leads_to=frozenset({State.CLAIMED})),
    Move("pop", starts=frozenset({State.READY})),
    Move("finish", starts=frozenset({State.CLAIMED})),
    Move("finish_keeping", starts=frozenset({State.CLAIMED})),
    Move("finish_one", starts=frozenset({State.CLAIMED})),
    Move("retry", starts=frozenset({State.CLAIMED}), leads_to=frozenset({State.READY, State.DELAYED})),
    Move("release", starts=frozenset({State.CLAIMED}), leads_to=frozenset({State.READY})),
    Move("cancel", starts=UNCLAIMED),
    Move("bury", starts=UNCLAIMED | {State.CLAIMED}),
    Move("drop_oldest", starts=UNCLAIMED | {State.RETAINED}),
    Move("retain_streams", starts=frozenset({State.RETAINED})),
    Move("drop", starts=frozenset(State)),
    Move("retry_now", starts=frozenset({State.DELAYED}), leads_to=MAY_GO),
    Move("reprioritise", starts=UNCLAIMED, leads_to=UNCLAIMED),
    Move("rewrite", starts=UNCLAIMED, leads_to=UNCLAIMED),
    Move("take_out", starts=UNCLAIMED),
)
