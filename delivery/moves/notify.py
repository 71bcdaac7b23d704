"""What a poster asked to hear of: stages as a message's `notify` column keeps them, and its label."""

from functools import cache

from delivery.protocol.fields import NotifyStage
from delivery.storage.vocabulary import STAGE_NUMBERS

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
