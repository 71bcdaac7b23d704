"""What operators do to queues: make, change, pause, resume, purge, delete."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from console import readings
from console.asking import Question, answer
from console.frame import attempt, page, screen
from delivery.operating.audit import staff
from delivery.operating.permissions import May
from delivery.operating.queues import queue_change, queue_create, queue_delete, queue_pause, queue_purge, queue_resume
from queues.definitions import SETTING_NAMES, default_settings
from queues.forms import QueueCreationForm, QueueSettingsForm
from queues.models import Queue

FORCE_WORDS = "delete with all messages"


@screen(May.CREATE_QUEUES)
def queue_new(request: HttpRequest) -> HttpResponse:
    form = QueueCreationForm(request.POST or None, initial=asdict(default_settings(name="")))
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        made: list[Queue] = []

        def make() -> str:
            chosen = {name: given[name] for name in SETTING_NAMES}
            made.append(queue_create(name=given["name"], tags=given["tags"], chosen=chosen, by=staff(request.user)))
            return f"The queue {made[0]} is there."

        if _done(request, form, make):
            return redirect("console:queue", made[0].pk)
    return _form_page(request, form, "New queue", "Create", reverse("console:queues"))


@screen(May.CHANGE_QUEUES)
def queue_settings(request: HttpRequest, queue_id: int) -> HttpResponse:
    queue = get_object_or_404(Queue, pk=queue_id)
    form = QueueSettingsForm(request.POST or None, instance=get_object_or_404(Queue, pk=queue_id))
    if request.method == "POST" and form.is_valid():
        changes = {name: form.cleaned_data[name] for name in form.changed_data}

        def change() -> str:
            if not changes:
                return "Nothing was changed."
            queue_change(queue=queue, changes=changes, by=staff(request.user))
            return f"Changed: {', '.join(changes)}."

        if _done(request, form, change):
            return redirect("console:queue", queue_id)
    return _form_page(request, form, f"Settings of {queue}", "Save", reverse("console:queue", args=[queue_id]))


@screen(May.CHANGE_QUEUES)
def queue_pause_asked(request: HttpRequest, queue_id: int) -> HttpResponse:
    says = "No messages are handed out until the queue is resumed. Posts are accepted, and clients keep what they hold."
    return _switch(
        request, queue_id, queue_pause, "Pause", says, "is paused: posts are accepted, and no messages are handed out."
    )


@screen(May.CHANGE_QUEUES)
def queue_resume_asked(request: HttpRequest, queue_id: int) -> HttpResponse:
    says = "Messages are handed out again at once."
    return _switch(request, queue_id, queue_resume, "Resume", says, "hands out messages again.")


def _switch(
    request: HttpRequest, queue_id: int, change: Callable[..., None], button: str, says: str, done: str
) -> HttpResponse:
    queue = get_object_or_404(Queue, pk=queue_id)

    def act() -> str:
        change(queue=queue, by=staff(request.user))
        readings.queue_figures.forget()  # type: ignore[attr-defined]
        return f"{queue} {done}"

    question = Question(title=f"{button} {queue}", says=[says], button=button)
    return answer(request, question, act, back=reverse("console:queue", args=[queue_id]))


@screen(May.PURGE_QUEUES)
def queue_purge_asked(request: HttpRequest, queue_id: int) -> HttpResponse:
    queue = get_object_or_404(Queue, pk=queue_id)
    figures = readings.figures_of(queue_id)
    held = figures.claimed if figures else 0
    dropped = figures.live - held if figures else 0
    question = Question(
        title=f"Purge {queue}",
        says=[
            f"{dropped:,} {'message that no client holds is' if dropped == 1 else 'messages that no client holds are'} "
            "dropped, and so are those that come until you answer. They are not kept anywhere.",
            f"The {held:,} that clients are working on stay." if held else "No client is working on any of them.",
        ],
        button="Purge",
        destroys=True,
        form=_typed(request, queue.name, f"Type the queue's name, {queue.name}, to go on."),
    )

    def purge() -> str:
        tally = queue_purge(queue=queue, by=staff(request.user))
        readings.queue_figures.forget()  # type: ignore[attr-defined]
        return f"Purged {queue}: {tally}."

    return answer(request, question, purge, back=reverse("console:queue", args=[queue_id]))


@screen(May.DELETE_QUEUES)
def queue_delete_asked(request: HttpRequest, queue_id: int) -> HttpResponse:
    """An empty queue at once; a queue with messages only after typing a confirmation."""
    queue = get_object_or_404(Queue, pk=queue_id)
    figures = readings.figures_of(queue_id)
    held = figures.live if figures else 0
    empty_says = ["The queue is empty. It is removed, with its settings."]
    full_says = [
        f"The queue holds {held:,} message{'' if held == 1 else 's'}. They are dropped with it, including those that "
        "clients are working on, and are not kept anywhere."
    ]
    question = Question(
        title=f"Delete {queue}",
        says=full_says if held else empty_says,
        button="Delete",
        destroys=True,
        form=_typed(request, FORCE_WORDS, f"Type “{FORCE_WORDS}” to go on.") if held else None,
    )

    def delete() -> str:
        queue_delete(queue=queue, by=staff(request.user), forced=bool(held))
        readings.queue_figures.forget()  # type: ignore[attr-defined]
        return f"{queue} is deleted."

    return answer(request, question, delete, back=reverse("console:queues"))


def _typed(request: HttpRequest, wanted: str, label: str) -> forms.Form:
    return TypedForm(request.POST or None, wanted=wanted, label=label)


class TypedForm(forms.Form):
    """A text to type, so that nobody confirms without reading."""

    typed = forms.CharField(widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}))

    def __init__(self, *args: Any, wanted: str, label: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._wanted = wanted
        self.fields["typed"].label = label

    def clean_typed(self) -> str:
        typed = str(self.cleaned_data["typed"])
        if typed != self._wanted:
            raise ValidationError(f"This must be exactly {self._wanted}")
        return typed


def _done(request: HttpRequest, form: forms.ModelForm, action: Any) -> bool:
    """A refusal is shown on the form, beside its field."""
    try:
        done = action()
    except ValidationError as refusal:
        form.add_error(None, refusal)
        return False
    return attempt(request, lambda: done)


def _form_page(request: HttpRequest, form: forms.ModelForm, title: str, button: str, back: str) -> HttpResponse:
    crumbs = [{"title": "Queues", "link": reverse("console:queues")}]
    return page(
        request, "console/queue_form.html", title=title, form=form, button=button, back=back, breadcrumbs=crumbs
    )
