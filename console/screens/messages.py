"""Messages: search, and what is done to those that were chosen."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse

from console.frame import page, screen
from console.live.parts import Part
from console.message_forms import MessageSearchForm
from console.message_list import MessageList
from console.paging import search_of
from delivery.operating.permissions import May
from queues.models import Queue


def read_messages(given: QueryDict, *, may: Mapping[str, bool]) -> dict[str, Any]:
    form = MessageSearchForm(given)
    found = _search(given, form, with_bodies=may.get("see_bodies", False)) if form.is_valid() else None
    queue_id = form.cleaned_data.get("queue_id")
    here = reverse("console:messages")
    return {
        "form": form,
        "found": found,
        "is_narrowed": any(given.get(name) for name in form.fields),
        "is_another_page": bool(given.get("after") or given.get("before")),
        "queue": Queue.objects.filter(pk=queue_id).first() if queue_id else None,
        "this": f"{here}?{given.urlencode()}" if given else here,
        "matching": form.is_narrowed and search_of(given),
    }


PART = Part("console/parts/messages.html", read_messages, every=5.0, reads_by_permission=True)


@screen(May.LOOK, live=PART)
def messages(request: HttpRequest) -> HttpResponse:
    return page(request, "console/messages.html", title="Messages", part=PART)


def _search(given: QueryDict, form: MessageSearchForm, *, with_bodies: bool) -> MessageList | None:
    chosen = form.filter()
    if chosen.text and not with_bodies:
        # Finding or not finding a text would tell what bodies say.
        form.add_error("text", "Your account may not see bodies, so it cannot search in them.")
        return None
    try:
        return MessageList(given, chosen, backwards=form.is_backwards, with_bodies=with_bodies)
    except ValidationError as refusal:
        form.add_error(None, refusal.messages)
        return None
