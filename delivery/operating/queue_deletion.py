"""What operators change where messages are concerned."""

from django.core.exceptions import ValidationError
from django.db import transaction

from clients.models import Position
from delivery.moves.models import DedupeValue, EndedCount, Message
from queues.models import Queue, QueueCounter


def queue_delete(*, queue: Queue) -> None:
    """Remove a queue that holds no messages. Its name and tags may come to be again, under another number."""
    with transaction.atomic():
        # The row that every post locks first: nothing arrives from here to the commit.
        if QueueCounter.objects.select_for_update().filter(pk=queue.pk).first() is None:
            raise ValidationError(f"The queue {queue} is gone already.")
        if Message.objects.filter(queue_id=queue.pk).exists():
            raise ValidationError(f"The queue {queue} holds messages; only an empty queue can be deleted.")
        for left_over in (EndedCount, DedupeValue, Position):
            left_over.objects.filter(queue_id=queue.pk).delete()
        Queue.objects.filter(pk=queue.pk).delete()
