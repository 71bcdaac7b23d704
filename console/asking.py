"""Asking before something is done: a page of its own, which works by keyboard, on a phone and without JavaScript.

An action's address shows the question on GET and does it on POST. `back` in the address, or in the form, says where
to return to.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme

from console.frame import attempt, page


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    title: str
    says: Iterable[str]  # what will happen, a sentence each
    button: str
    destroys: bool = False  # what cannot be brought back
    form: forms.Form | None = None
    kept: list[tuple[str, str]] = field(default_factory=list)  # what the answer sends along


def ask(request: HttpRequest, question: Question, *, back: str) -> HttpResponse:
    return page(request, "console/ask.html", title=question.title, question=question, back=way_back(request, back))


def answer(
    request: HttpRequest, question: Question, action: Callable[[], str], *, back: str, answered: bool | None = None
) -> HttpResponse:
    """Ask; or act, once the question is answered, and show the result on the page that the operator came from."""
    form = question.form
    is_answered = request.method == "POST" if answered is None else answered
    if not is_answered or (form is not None and not form.is_valid()):
        return ask(request, question, back=back)
    attempt(request, action)
    return HttpResponseRedirect(way_back(request, back))


def way_back(request: HttpRequest, otherwise: str) -> str:
    """Only to addresses of this site."""
    wanted = request.POST.get("back") or request.GET.get("back") or ""
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        return wanted
    return otherwise
