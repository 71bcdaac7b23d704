"""Messages: search, and what is done to those that were chosen."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.message_forms import MessageSearchForm
from console.message_list import MessageList
from console.paging import search_of
from delivery.operating.permissions import May, allowed
from queues.models import Queue


@screen(May.LOOK)
def messages(request: HttpRequest) -> HttpResponse:
    form = MessageSearchForm(request.GET)
    found = _search(request, form) if form.is_valid() else None
    queue_id = form.cleaned_data.get("queue_id")
    return page(
        request,
        "console/messages.html",
        title="Messages",
        form=form,
        found=found,
        is_narrowed=any(request.GET.get(name) for name in form.fields),
        queue=Queue.objects.filter(pk=queue_id).first() if queue_id else None,
        this=request.get_full_path(),
        matching=form.is_narrowed and search_of(request.GET),
    )


def _search(request: HttpRequest, form: MessageSearchForm) -> MessageList | None:
    chosen = form.filter()
    if chosen.text and not allowed(request.user, May.SEE_BODIES):
        # Finding or not finding a text would tell what bodies say.
        form.add_error("text", "Your account may not see bodies, so it cannot search in them.")
        return None
    try:
        return MessageList(request, chosen, backwards=form.is_backwards)
    except ValidationError as refusal:
        form.add_error(None, refusal.messages)
        return None
