"""The states of a live message and every legal move between them: the one table that the engine follows."""

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


# move: (states it may start from, state it leads to or None where the message's life ends, statement)
MOVES = {
    "post": (frozenset(), State.READY, "post"),
    "post with delay": (frozenset(), State.DELAYED, "post"),
    "post to a stream": (frozenset(), State.RETAINED, "post"),
    "replace": (frozenset({State.READY, State.DELAYED}), State.READY, "replace_by_key"),
    "come due": (frozenset({State.DELAYED}), State.READY, "come_due"),
    "claim": (frozenset({State.READY}), State.CLAIMED, "claim"),
    "pop": (frozenset({State.READY}), None, "pop"),
    "finish": (frozenset({State.CLAIMED}), None, "finish"),
    "retry": (frozenset({State.CLAIMED}), State.DELAYED, "retry"),
    "bury": (frozenset({State.READY, State.DELAYED, State.CLAIMED}), None, "bury"),
    "make room": (frozenset({State.READY, State.DELAYED}), None, "drop_oldest"),
}
