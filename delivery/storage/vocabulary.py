"""What the columns of messages, notices and the journal say, and the names by which SQL statements say it too."""

from collections.abc import Mapping

from django.db import models

from delivery.protocol.fields import Stage
from queues.definitions import DEAD_SUFFIX, NAME_LENGTH, SERVICE_PREFIX


class State(models.IntegerChoices):
    READY = 0, "ready"
    DELAYED = 1, "delayed"
    CLAIMED = 2, "claimed"
    RETAINED = (
        3,
        "retained",
    )  # messages of streams: they wait for no one and stay until retention removes them
    BEHIND = 4, "behind"  # others of its group, of which as many can be claimed as may be at a time


class Outcome(models.TextChoices):
    """How a message's life, or one attempt of it, ended: the journal's word for it."""

    FINISHED = "finished", "finished by a client"
    POPPED = "popped", "handed over by a pop"
    RETRIED = "retried", "the attempt failed, another follows"
    DEAD = "dead", "moved to the dead letter queue"
    DROPPED = "dropped", "removed to make room, by retention, by its poster or by an operator"


class Reason(models.TextChoices):
    """Why an attempt or a message failed."""

    FAILED = "failed", "its client said so"
    TIMEOUT = "timeout", "its claim ran out"
    DISCONNECTED = "disconnected", "its client went away"
    EXPIRED = "expired", "its time to live ended"
    OPERATOR = "operator", "an operator said so"


# Why a message was dropped, where no operator did it: the journal's words, beside those of Reason.
OVERFLOW = "overflow"
RETENTION = "retention"
CANCELLED = "cancelled"


# Why a request has no reply, in the place of the reply of its notice: the time is over, or the last worker's error.
REQUEST_TIMED_OUT = "t"
REQUEST_FAILED = "f"  # and the text

# The stages of a post, in the order of their numbers in pending notices.
STAGES: tuple[Stage, ...] = ("ready", "write", "sync", "assign", "finish", "retry", "drop")
STAGE_NUMBERS = {stage: number for number, stage in enumerate(STAGES)}

# The same stages as bits of a message's `notify` column.
READY, WRITE, SYNC, ASSIGN, FINISH, RETRY, DROP = (1 << number for number in range(len(STAGES)))
NAMED_SEVERAL = 1 << 7  # not a stage: the post named several queues, so its notices say which one they are about
REQUEST = 1 << 8  # not a stage: the message is a request to a service, whose poster awaits a reply

# `state = :CLAIMED`, `outcome = :FINISHED`, `notify & :NOTIFY_FINISH`, `stage = :STAGE_FINISH`.
# Indexes that a queue may give out before the next flush (docs/decisions/indexes-are-flushed-ahead.md).
INDEXES_AHEAD = 10_000

# Milliseconds after its due time within which somebody who waits for a rate's next message asks for it.
RATE_GRACE_MS = 50

# The bodies that one statement hands out, the last one aside: with what comes after them a statement goes on later.
# What other clients want waits behind it on the same connection, so it is little.
MOST_TAKEN_BYTES = 2 * 1024 * 1024
KEPT_REPLY_ROW_BYTES = 150  # roughly, on the disk: of a reply that is kept, the reply aside

NAMES: Mapping[str, int | str] = {
    **{state.name: state.value for state in State},
    **{outcome.name: outcome.value for outcome in Outcome},
    "BY_OPERATOR": Reason.OPERATOR.value,
    "BY_OVERFLOW": OVERFLOW,
    "BY_RETENTION": RETENTION,
    "BY_POSTER": CANCELLED,
    "DISCONNECTED": Reason.DISCONNECTED.value,
    "EXPIRED": Reason.EXPIRED.value,
    **{f"STAGE_{stage.upper()}": number for stage, number in STAGE_NUMBERS.items()},
    **{f"NOTIFY_{stage.upper()}": 1 << number for stage, number in STAGE_NUMBERS.items()},
    "NAMED_SEVERAL": NAMED_SEVERAL,
    "REQUEST": REQUEST,
    "REQUEST_TIMED_OUT": REQUEST_TIMED_OUT,
    "REQUEST_FAILED": REQUEST_FAILED,
    "DEAD_SUFFIX": DEAD_SUFFIX,
    "SERVICE_PREFIX": SERVICE_PREFIX,
    "MOST_TAKEN_BYTES": MOST_TAKEN_BYTES,
    "KEPT_REPLY_ROW_BYTES": KEPT_REPLY_ROW_BYTES,
    "NAME_LENGTH": NAME_LENGTH,
    "INDEXES_AHEAD": INDEXES_AHEAD,
    "RATE_GRACE_MS": RATE_GRACE_MS,
}
