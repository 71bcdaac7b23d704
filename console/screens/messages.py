"""Messages: search, and what is done to those that were chosen."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.message_forms import MessageSearchForm
from console.permissions import May, allowed
from console.search_pages import page_address, read_places, search_of
from delivery.inspection.search import MessagePage, search_messages
from queues.models import Queue


@screen(May.LOOK)
def messages(request: HttpRequest) -> HttpResponse:
    form = MessageSearchForm(request.GET)
    found = _search(request, form) if form.is_valid() else None
    query = form.query() if form.is_valid() else None
    return page(
        request,
        "console/messages.html",
        title="Messages",
        form=form,
        found=found,
        is_narrowed=any(request.GET.get(name) for name in form.fields),
        queue=Queue.objects.filter(pk=query.queue_id).first() if query and query.queue_id else None,
        order=query and (query.walk.backwards if query.backwards else query.walk.forwards),
        previous=found and page_address(request.GET, before=found.previous),
        next=found and page_address(request.GET, after=found.next),
        this=request.get_full_path(),
        matching=form.is_narrowed and search_of(request.GET),
    )


def _search(request: HttpRequest, form: MessageSearchForm) -> MessagePage | None:
    query = form.query()
    sees_bodies = allowed(request.user, May.SEE_BODIES)
    if query.text and not sees_bodies:
        # Finding or not finding a text would tell what bodies say.
        form.add_error("text", "Your account may not see bodies, so it cannot search in them.")
        return None
    try:
        places = read_places(request.GET)
    except ValidationError as refusal:
        form.add_error(None, refusal)
        return None
    return search_messages(query, with_bodies=sees_bodies, **places)
