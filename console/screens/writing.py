"""Writing messages by hand: posting one, and changing one that waits."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from console.asking import Question, ask
from console.frame import demand, screen
from console.message_forms import OptionalSpanField, TagsField
from console.target_forms import QueueNameInput
from delivery.gateway.by_hand import post_by_hand
from delivery.inspection.message import whole_body
from delivery.moves.message_id import MessageId
from delivery.moves.models import Message
from delivery.operating.audit import staff
from delivery.operating.permissions import May
from delivery.operating.rewriting import message_rewrite
from delivery.protocol.errors import WillowError
from delivery.protocol.fields import U32_MAX

MOST_SHOWN_BYTES = 100_000  # of a body that can be changed in a form


class BodyForm(forms.Form):
    body = forms.CharField(
        label="Body",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false"}),
        help_text="Text, such as JSON. It is stored as UTF-8.",
    )
    priority = forms.IntegerField(
        min_value=0, max_value=U32_MAX, initial=0, help_text="Higher goes first; 0 is the default."
    )

    def clean_body(self) -> str:
        """Forms send line ends as CR LF, whatever was typed."""
        return str(self.cleaned_data["body"]).replace("\r\n", "\n")


class PostForm(BodyForm):
    field_order = ("queue", "tags", "body", "priority", "delay", "ttl", "key")

    queue = forms.CharField(max_length=200, widget=QueueNameInput())
    tags = TagsField(help_text="Separated by commas; empty: the queue without tags.")
    delay = OptionalSpanField(help_text="Empty: ready at once.")
    ttl = OptionalSpanField(label="Time to live", help_text="Empty: for ever.")
    key = forms.CharField(
        required=False, max_length=500, strip=False, help_text="Replaces a waiting message with the same key."
    )


@screen(May.CHANGE_MESSAGES)
def message_new(request: HttpRequest) -> HttpResponse:
    form = PostForm(request.POST or None, initial={"queue": request.GET.get("queue", ""), "priority": 0})
    question = Question(
        title="Post a message",
        says=["It goes to the end of its queue, as if a program had posted it. The audit log says who did."],
        button="Post",
        form=form,
    )
    if request.method == "POST" and form.is_valid():
        try:
            stored = post_by_hand(**form.cleaned_data, by=staff(request.user))
        except (ValidationError, WillowError) as refusal:
            form.add_error(None, refusal.messages if isinstance(refusal, ValidationError) else refusal.message)
        else:
            messages.success(request, f"Posted message {stored.index} to {stored.queue.name}.")
            return redirect("console:message", stored.queue.id, stored.index)
    return ask(request, question, back=reverse("console:messages"))


@screen(May.CHANGE_MESSAGES)
def message_edit(request: HttpRequest, queue_id: int, index: int) -> HttpResponse:
    demand(request, May.SEE_BODIES)
    here = reverse("console:message", args=[queue_id, index])
    message = Message.objects.filter(queue_id=queue_id, index=index).defer("body").first()
    if message is None:
        raise Http404(f"There is no message {index} in queue {queue_id} (any more).")
    try:
        form = BodyForm(request.POST or None, initial=_as_it_is(message))
    except ValidationError as refusal:
        messages.error(request, refusal.messages[0])
        return redirect(here)
    question = Question(
        title=f"Change message {index}",
        says=["It keeps its place in the queue. If a client takes it before you save, nothing is changed."],
        button="Save",
        form=form,
    )
    if request.method == "POST" and form.is_valid():
        try:
            one = MessageId(queue_id, message.sequence, index)
            message_rewrite(one=one, **form.cleaned_data, by=staff(request.user))
        except ValidationError as refusal:
            form.add_error(None, refusal.messages)
        else:
            messages.success(request, f"Changed message {index}.")
            return redirect(here)
    return ask(request, question, back=here)


def _as_it_is(message: Message) -> dict[str, Any]:
    body = whole_body(message.queue_id, message.sequence, message.index, most=MOST_SHOWN_BYTES)
    if body is None:
        raise ValidationError(f"Only bodies of up to {MOST_SHOWN_BYTES:,} bytes can be changed here.")
    try:
        return {"body": body.decode(), "priority": message.priority}
    except UnicodeDecodeError:
        raise ValidationError("The body is not text, so it cannot be changed here.") from None
