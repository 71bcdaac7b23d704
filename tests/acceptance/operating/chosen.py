"""How tests name queues and messages to an operator."""

from typing import Any

from delivery.operating.choosing import MessageFilter, MessageId
from queues.models import Queue
from tests.brokers.client import Fields


def message_id(frame: Fields) -> MessageId:
    """Of a message, or of the notice that its poster got."""
    return MessageId(frame["shard"], frame["sequence"], frame["index"])


def all_of(shard: int, **conditions: Any) -> MessageFilter:
    return MessageFilter(queue_ids=(shard,), **conditions)


def queue_of(shard: int) -> Queue:
    return Queue.objects.get(pk=shard)
