"""How tests name queues and messages to an operator."""

from typing import Any

from delivery.inspection.filters import MessageFilter
from delivery.moves.message_id import MessageId
from queues.models import Queue
from tests.support.client import Fields


def message_id(frame: Fields) -> MessageId:
    """Of a message, or of the notice that its poster got."""
    return MessageId(frame["shard"], frame["sequence"], frame["index"])


def all_of(shard: int, **conditions: Any) -> MessageFilter:
    return MessageFilter(queue_ids=(shard,), **conditions)


def queue_of(shard: int) -> Queue:
    return Queue.objects.get(pk=shard)
