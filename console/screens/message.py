"""One message: what happened to it, why it does not move, what it says, and what can be done to it."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import reverse

from console.frame import page, screen
from console.live.parts import Part
from delivery.inspection.diagnosis import why_message
from delivery.inspection.message import BodyViews, MessageRecord, message_record
from delivery.inspection.timeline import message_timeline
from delivery.moves.message_id import MessageId
from delivery.operating.permissions import May, allowed
from queues.definitions import is_dead_letter_name

VIEWS = {"json": "JSON", "text": "Text", "hex": "Hex"}


def read_message(given: QueryDict, *, queue_id: int, index: int) -> dict[str, Any]:
    """All but the body, which does not change."""
    record = _record(queue_id, index, with_body=False)
    message_id = _message_id(record, queue_id, index)
    return {
        "record": record,
        "message": record.message,
        "message_id": message_id,
        "causes": why_message(message_id) if record.message else [],
        "events": message_timeline(message_id),
        "is_dead_letter": record.queue is not None and is_dead_letter_name(record.queue.name),
        "this": reverse("console:message", args=[queue_id, index]),
    }


PART = Part("console/parts/message.html", read_message)


@screen(May.LOOK, live=PART)
def message(request: HttpRequest, queue_id: int, index: int) -> HttpResponse:
    record = _record(queue_id, index, with_body=allowed(request.user, May.SEE_BODIES))
    queue_title = str(record.queue or (record.ended and record.ended.queue_name) or f"queue {queue_id}")
    return page(
        request,
        "console/message.html",
        title=f"Message {index}",
        part=PART,
        breadcrumbs=[
            {"link": reverse("console:messages"), "title": "Messages"},
            {"link": f"{reverse('console:messages')}?queue_id={queue_id}", "title": queue_title},
        ],
        body=record.body,
        **_view(record.body, request.GET.get("view", "")),
    )


def _record(queue_id: int, index: int, *, with_body: bool) -> MessageRecord:
    record = message_record(queue_id, index, with_body=with_body)
    if record is None:
        raise Http404(f"There is no message {index} in queue {queue_id}, also not in the journal.")
    return record


def _message_id(record: MessageRecord, queue_id: int, index: int) -> MessageId:
    """A message that has ended has no ID any more. 0 stands for that: no message has it."""
    return MessageId(queue_id, record.message.sequence if record.message else 0, index)


def _view(body: BodyViews | None, asked: str) -> dict[str, Any]:
    """How the body is shown: as asked, or as fits it best."""
    if body is None:
        return {}
    possible = {name: title for name, title in VIEWS.items() if getattr(body, name) is not None}
    shown = asked if asked in possible else body.best
    return {"views": possible, "view": shown, "shown_body": getattr(body, shown)}
