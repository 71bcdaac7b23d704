"""The stages of a post as bits of a message's `notify` column, and as the numbers of pending notices."""

from functools import cache

from delivery.protocol.fields import NotifyStage, Stage

STAGES: tuple[Stage, ...] = ("ready", "write", "sync", "assign", "finish", "retry", "drop")
STAGE_NUMBERS = {stage: number for number, stage in enumerate(STAGES)}

READY, WRITE, SYNC, ASSIGN, FINISH, RETRY, DROP = (1 << number for number in range(len(STAGES)))
NAMED_SEVERAL = 1 << 7  # not a stage: the post named several queues, so its notices say which one they are about
REQUEST = 1 << 8  # not a stage: the message is a request to a service, whose poster awaits a reply

U64_SIGN = 1 << 63
U64_RANGE = 1 << 64


@cache
def notify_mask(stages: frozenset[NotifyStage]) -> int:
    return sum(1 << STAGE_NUMBERS[stage] for stage in stages)


def label_to_column(label: int | None) -> int | None:
    """An unsigned label in a signed column."""
    return label - U64_RANGE if label is not None and label >= U64_SIGN else label


def label_from_column(label: int | None) -> int | None:
    return label + U64_RANGE if label is not None and label < 0 else label
