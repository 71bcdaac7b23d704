"""Which dead letters an operator means, as it stands in an address: all of a queue, a reason and an error signature,
or single ones."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.http import QueryDict

from delivery.inspection.filters import MessageFilter
from delivery.moves.message_id import MessageId
from delivery.moves.states import Reason
from delivery.operating.dead_letters import dead_letter_queue_ids
from queues.definitions import is_dead_letter_name
from queues.models import Queue


@dataclass(frozen=True, slots=True)
class DeadLetterChoice:
    """`ids` or the rest. What is None does not matter."""

    queue: Queue | None = None
    reason: str | None = None
    signature: str | None = None  # empty: those without an error
    ids: tuple[MessageId, ...] = ()

    def chosen(self) -> MessageFilter | tuple[MessageId, ...]:
        """As delivery/operating takes it."""
        return self.ids or self.filter()

    def filter(self) -> MessageFilter:
        queue_ids = (self.queue.pk,) if self.queue else dead_letter_queue_ids()
        return MessageFilter(queue_ids=queue_ids, reason=self.reason, signature=self.signature)

    def pairs(self) -> list[tuple[str, str]]:
        """As forms and addresses say it."""
        if self.ids:
            return [("message", str(one)) for one in self.ids]
        queue_id = str(self.queue.pk) if self.queue else None
        given = {"queue_id": queue_id, "reason": self.reason, "signature": self.signature}
        return [(name, value) for name, value in given.items() if value is not None]

    @property
    def address(self) -> str:
        return urlencode(self.pairs())

    @property
    def words(self) -> str:
        if self.ids:
            return "1 chosen dead letter" if len(self.ids) == 1 else f"{len(self.ids)} chosen dead letters"
        parts = ["all dead letters"]
        if self.queue:
            parts.append(f"in {self.queue}")
        if self.reason:
            parts.append(f"with the reason {self.reason}")
        if self.signature is not None:
            parts.append(f"and the error “{self.signature}”" if self.signature else "and no error")
        return " ".join(parts)


def read_choice(given: QueryDict) -> DeadLetterChoice:
    """A ValidationError says what is wrong with it."""
    if "message" in given:
        return DeadLetterChoice(ids=tuple(MessageId.read(text) for text in given.getlist("message")))
    reason = given.get("reason")
    if reason is not None and reason not in Reason.values:
        raise ValidationError(f"The reason must be one of {', '.join(Reason.values)}, not {reason!r}.")
    return DeadLetterChoice(_queue(given.get("queue_id", "")), reason, given.get("signature"))


def _queue(text: str) -> Queue | None:
    if not text:
        return None
    queue = Queue.objects.filter(pk=text).first() if text.isascii() and text.isdigit() and len(text) < 19 else None
    if queue is None or not is_dead_letter_name(queue.name):
        raise ValidationError(f"There is no dead letter queue with the number {text!r}.")
    return queue
