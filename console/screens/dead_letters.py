"""Dead letters: in groups, one by one, and how they are purged and exported. Redriving is in redrives.py."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from console.asking import Question, answer
from console.dead_letter_choice import read_choice
from console.frame import demand, page, screen
from console.live.parts import Part
from console.message_list import MessageList
from delivery.gateway.streamed_answers import as_they_come
from delivery.operating.audit import staff
from delivery.operating.dead_letters import (
    GROUP_LOOKED_AT,
    DeadLetterGroup,
    dead_letter_groups,
    dead_letter_queue_ids,
    dead_letters_export,
    dead_letters_purge,
)
from delivery.operating.models import RedriveJob
from delivery.operating.permissions import May, allowed

MOST_JOBS = 10  # that are listed
PURGE_WORD = "purge"


def read_dead_letters(given: QueryDict) -> dict[str, Any]:
    """`queue` is a queue's name, with or without `.dead`."""
    name = given.get("queue", "").strip()
    groups = dead_letter_groups(queue_ids=dead_letter_queue_ids(name=name) if name else None)
    return {
        "groups": [(group, _address(group)) for group in groups],
        "total": sum(group.messages for group in groups),
        "looked_at": GROUP_LOOKED_AT if any(group.is_partial for group in groups) else None,
        "wanted": name,
        "jobs": RedriveJob.objects.order_by("-id")[:MOST_JOBS],
    }


PART = Part("console/parts/dead_letters.html", read_dead_letters, every=5.0)


@screen(May.LOOK, live=PART)
def dead_letters(request: HttpRequest) -> HttpResponse:
    lead = "Messages that failed as often as their queue allows, or whose time to live ended."
    return page(request, "console/dead_letters.html", title="Dead letters", part=PART, lead=lead)


def _address(group: DeadLetterGroup) -> str:
    """As console/dead_letter_choice.py reads it."""
    reason = {} if group.reason is None else {"reason": group.reason}
    return urlencode({"queue_id": group.queue_id, **reason, "signature": group.signature})


@screen(May.LOOK)
def dead_letter_list(request: HttpRequest) -> HttpResponse:
    try:
        choice = read_choice(request.GET)
        with_bodies = allowed(request.user, May.SEE_BODIES)
        found = MessageList(request.GET, choice.filter(), backwards=True, with_bodies=with_bodies)
    except ValidationError as refusal:
        messages.error(request, refusal.messages[0])
        return redirect("console:dead_letters")
    return page(
        request,
        "console/dead_letter_list.html",
        title="One by one",
        breadcrumbs=[{"link": reverse("console:dead_letters"), "title": "Dead letters"}],
        choice=choice,
        found=found,
        this=request.get_full_path(),
    )


class PurgeForm(forms.Form):
    word = forms.CharField(label=f"Type {PURGE_WORD} to confirm", widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def clean_word(self) -> str:
        if self.cleaned_data["word"] != PURGE_WORD:
            raise ValidationError(f"This must be the word {PURGE_WORD}.")
        return PURGE_WORD


@screen(May.REDRIVE)
def dead_letters_drop(request: HttpRequest) -> HttpResponse:
    """Asks for the dead letters that an address or a form names, and purges them once the question was answered."""
    back = reverse("console:dead_letters")
    try:
        choice = read_choice(request.POST if request.method == "POST" else request.GET)
    except ValidationError as refusal:
        messages.error(request, refusal.messages[0])
        return redirect(back)
    answered = "word" in request.POST
    question = Question(
        title=f"Purge {choice.words}",
        says=["They are gone for good and cannot be redriven. Dead letters that a client holds stay."],
        button="Purge",
        destroys=True,
        form=PurgeForm(request.POST if answered else None),
        kept=choice.pairs(),
    )

    def act() -> str:
        return f"Purged {choice.words}: {dead_letters_purge(chosen=choice.chosen(), by=staff(request.user))}."

    return answer(request, question, act, back=back, answered=answered)


@screen(May.SEE_BODIES)
def dead_letters_save(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """A file with a line of JSON for each, sent while it is read."""
    demand(request, May.REDRIVE)
    try:
        choice = read_choice(request.GET)
    except ValidationError as refusal:
        messages.error(request, refusal.messages[0])
        return redirect("console:dead_letters")
    lines = dead_letters_export(chosen=choice.filter(), by=staff(request.user))
    name = f"dead-letters-{timezone.now():%Y%m%d-%H%M%S}.jsonl"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(as_they_come(lines), content_type="application/x-ndjson", headers=headers)
