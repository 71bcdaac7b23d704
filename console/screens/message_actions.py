"""What is done to messages that an operator chose: asked first, done by delivery/operating, and counted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console.asking import Question, answer, way_back
from console.frame import screen
from console.message_choice import MessageChoice, read_choice
from console.target_forms import TargetQueueForm
from delivery.operating.audit import Operator, staff
from delivery.operating.messages import (
    Choice,
    messages_drop,
    messages_move,
    messages_retry_now,
    messages_set_priority,
)
from delivery.operating.permissions import May
from delivery.operating.tally import Tally
from delivery.protocol.fields import U32_MAX

ANSWERED = "answered"  # what tells the answer to a question from the form that chose the messages


class PriorityForm(forms.Form):
    priority = forms.IntegerField(
        label="New priority", min_value=0, max_value=U32_MAX, help_text="Higher goes first; 0 is the default."
    )


@dataclass(frozen=True, slots=True)
class Action:
    title: str
    says: str
    do: Callable[[Choice, Mapping[str, Any], Operator], Tally]
    form: type[forms.Form] | None = None
    destroys: bool = False


ACTIONS = {
    "retry": Action(
        "Retry now",
        "Delayed messages become ready at once. Others are skipped.",
        lambda chosen, _, by: messages_retry_now(chosen=chosen, by=by),
    ),
    "priority": Action(
        "Change priority",
        "Waiting messages get a new priority. Messages that a client holds are skipped.",
        lambda chosen, given, by: messages_set_priority(chosen=chosen, priority=given["priority"], by=by),
        PriorityForm,
    ),
    "move": Action(
        "Move",
        "Waiting messages go to the end of another queue. Messages that a client holds are skipped.",
        lambda chosen, given, by: messages_move(chosen=chosen, target=given["target"], by=by),
        TargetQueueForm,
    ),
    "drop": Action(
        "Drop",
        "Messages are gone for good; the journal says that an operator dropped them. Messages that a client holds "
        "are skipped.",
        lambda chosen, _, by: messages_drop(chosen=chosen, by=by),
        destroys=True,
    ),
}


@screen(May.CHANGE_MESSAGES)
def messages_act(request: HttpRequest) -> HttpResponse:
    """Asks for the messages that an address or a form names, and does it once the question was answered."""
    back = reverse("console:messages")
    given = request.POST if request.method == "POST" else request.GET
    name = given.get("action", "")
    try:
        choice = read_choice(given, request.user)
        if name not in ACTIONS:
            raise ValidationError(f"The action must be one of {', '.join(ACTIONS)}, not {name!r}.")
    except ValidationError as refusal:
        messages.error(request, refusal.messages[0])
        return HttpResponseRedirect(way_back(request, back))
    return _ask_or_act(request, name, choice, back)


def _ask_or_act(request: HttpRequest, name: str, choice: MessageChoice, back: str) -> HttpResponse:
    action = ACTIONS[name]
    answered = ANSWERED in request.POST
    form = action.form(request.POST if answered else None) if action.form else None
    question = Question(
        title=f"{action.title}: {choice.words}",
        says=[action.says, *choice.warns],
        button=action.title,
        destroys=action.destroys,
        form=form,
        kept=[(ANSWERED, "yes"), ("action", name), *choice.pairs],
    )

    def act() -> str:
        tally = action.do(choice.chosen, form.cleaned_data if form else {}, staff(request.user))
        return f"{action.title}: {tally}."

    return answer(request, question, act, back=back, answered=answered)
