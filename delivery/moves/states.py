"""The states of a live message and every legal move between them: the one table that the engine follows."""

from dataclasses import dataclass

from django.db import models


class State(models.IntegerChoices):
    READY = 0, "ready"
    DELAYED = 1, "delayed"
    CLAIMED = 2, "claimed"
    RETAINED = (
        3,
        "retained",
    )  # messages of streams: they wait for no one and stay until retention removes them


class Outcome(models.TextChoices):
    """How a message's life, or one attempt of it, ended: the journal's word for it."""

    FINISHED = "finished", "finished by a client"
    POPPED = "popped", "handed over by a pop"
    RETRIED = "retried", "the attempt failed, another follows"
    DEAD = "dead", "moved to the dead letter queue"
    DROPPED = "dropped", "removed to make room, by retention or by an operator"


class Reason(models.TextChoices):
    """Why an attempt or a message failed."""

    FAILED = "failed", "its client said so"
    TIMEOUT = "timeout", "its claim ran out"
    DISCONNECTED = "disconnected", "its client went away"
    EXPIRED = "expired", "its time to live ended"
    OPERATOR = "operator", "an operator said so"


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
    Move("replace", starts=UNCLAIMED, leads_to=UNCLAIMED),
    Move("come_due", starts=frozenset({State.DELAYED}), leads_to=frozenset({State.READY})),
    Move("claim", starts=frozenset({State.READY}), leads_to=frozenset({State.CLAIMED})),
    Move("claim_across", starts=frozenset({State.READY}), leads_to=frozenset({State.CLAIMED})),
    Move("assign", starts=frozenset({State.READY}), leads_to=frozenset({State.CLAIMED})),
    Move("pop", starts=frozenset({State.READY})),
    Move("finish", starts=frozenset({State.CLAIMED})),
    Move("retry", starts=frozenset({State.CLAIMED}), leads_to=UNCLAIMED),
    Move("bury", starts=UNCLAIMED | {State.CLAIMED}),
    Move("drop_oldest", starts=UNCLAIMED | {State.RETAINED}),
    Move("retain_streams", starts=frozenset({State.RETAINED})),
    Move("drop", starts=frozenset(State)),
    Move("retry_now", starts=frozenset({State.DELAYED}), leads_to=frozenset({State.READY})),
    Move("reprioritise", starts=UNCLAIMED, leads_to=UNCLAIMED),
    Move("take_out", starts=UNCLAIMED),
)
