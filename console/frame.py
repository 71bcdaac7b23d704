"""What every screen of the console has around it: who may see it, the page that it is drawn on, and how an action
tells what came of it.

A screen is a function of a request:

    @screen(May.LOOK)
    def nodes(request: HttpRequest) -> HttpResponse:
        return page(request, "console/nodes.html", title="Nodes", nodes=...)

A screen with a part that changes by itself names it, and its template shows it with `console/live_part.html`:

    PART = Part("console/parts/nodes.html", read_nodes)

    @screen(May.LOOK, live=PART)
    def nodes(request: HttpRequest) -> HttpResponse:
        return page(request, "console/nodes.html", title="Nodes", part=PART)

It is listed in `console/urls.py` and, if it is a place to go to, in `console/navigation.py`. Queries are bounded and
exceptions become pages in `console/middleware.py`, for every address of the console.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.response import TemplateResponse

from console.live.parts import Part
from delivery.operating.permissions import May, allowed, permissions_of, refusal

View = Callable[..., HttpResponseBase]


def screen(may: May, *, live: Part | None = None) -> Callable[[View], View]:
    """For staff with this permission only; others log in first, or are told that they may not."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            demand(request, may)
            return view(request, *args, **kwargs)

        @wraps(view)
        def entered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            # Looked up now: the theme replaces Django's admin site while the apps are loaded.
            return admin.site.admin_view(guarded)(request, *args, **kwargs)

        entered.live, entered.may = live, may  # type: ignore[attr-defined]
        return entered

    return decorate


def demand(request: HttpRequest, may: May) -> None:
    """Inside a screen: for actions that need more than the permission of the screen."""
    if not allowed(request.user, may):
        raise PermissionDenied(refusal(may))


def page(request: HttpRequest, template: str, *, title: str, part: Part | None = None, **context: Any) -> HttpResponse:
    """A screen, with navigation and everything around it. All of the page can use the values of its live part."""
    may = permissions_of(request.user)
    read = part.values(request.GET, request.resolver_match.kwargs, may) if part and request.resolver_match else {}
    around = {"title": title, "part": part, "may": may}
    everything = {**admin.site.each_context(request), **around, **read, **context}
    request.current_app = admin.site.name
    return TemplateResponse(request, template, everything)


def attempt(request: HttpRequest, action: Callable[[], str]) -> bool:
    """Run the action and show its message, or show why it was refused. True if it was done."""
    try:
        done = action()
    except ValidationError as refused:
        for sentence in refused.messages:
            messages.error(request, sentence)
        return False
    messages.success(request, done)
    return True
