"""Sessions: every connection, what it holds, and how an operator ends it."""

import re
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse

from clients.models import Session
from console.asking import Question, answer
from console.frame import page, screen
from console.live.parts import Part
from console.paging import page_of
from delivery.figures.clients import held_by_sessions, read_by_sessions
from delivery.operating.audit import staff
from delivery.operating.permissions import May
from delivery.operating.sessions import session_disconnect, session_fail_messages

CHOICES = {
    "open": ("open", Q(ended_at=None)),
    "live": ("live", Q(node__isnull=False)),
    "held": ("expected back", Q(ended_at=None, node=None, held_until__isnull=False)),
    "orphaned": ("orphaned", Q(ended_at=None, node=None, held_until=None)),
    "ended": ("ended", Q(ended_at__isnull=False)),
}


def read_sessions(given: QueryDict) -> dict[str, Any]:
    """`state` is one of CHOICES, `of` a session's number, or part of a client's or node's name, or an address."""
    chosen = given.get("state", "open")
    wanted = given.get("of", "").strip()
    listed = page_of(given, _sessions(chosen, wanted), order=["-id"])
    numbers = [session.pk for session in listed.rows]
    held, read = held_by_sessions(numbers), read_by_sessions(numbers)
    here = f"{reverse('console:sessions')}?{given.urlencode()}"
    return {
        "sessions": [(session, read.get(session.pk, []), held.get(session.pk, 0)) for session in listed.rows],
        "listed": listed,
        "choices": [(name, title) for name, (title, _) in CHOICES.items()],
        "chosen": chosen if chosen in CHOICES else "open",
        "wanted": wanted,
        "this": here,
    }


PART = Part("console/parts/sessions.html", read_sessions)


@screen(May.LOOK, live=PART)
def sessions(request: HttpRequest) -> HttpResponse:
    lead = "One for each connection, and for clients that are expected back."
    return page(request, "console/sessions.html", title="Sessions", part=PART, lead=lead)


def _sessions(chosen: str, wanted: str) -> QuerySet[Session]:
    found = Session.objects.select_related("client", "node", "key").filter(CHOICES.get(chosen, CHOICES["open"])[1])
    if wanted:
        named = Q(client__name__icontains=wanted) | Q(node__name__icontains=wanted) | Q(address=wanted)
        found = found.filter(named | Q(pk=int(wanted)) if re.fullmatch("[0-9]{1,18}", wanted) else named)
    return found


@screen(May.DISCONNECT)
def disconnect(request: HttpRequest, session_id: int) -> HttpResponse:
    session = get_object_or_404(Session, pk=session_id)
    question = Question(
        title=f"Disconnect {_named(session)}",
        says=[
            "The socket is closed, and the messages that it holds fail at once: others get them, now or after a delay.",
            "The program may connect again. Revoke its key to keep it away.",
        ],
        button="Disconnect",
        destroys=True,
    )

    def act() -> str:
        tally = session_disconnect(session_id=session.pk, by=staff(request.user))
        return f"Disconnected {_named(session)}; messages that it held: {tally.done}."

    return answer(request, question, act, back=reverse("console:sessions"))


@screen(May.DISCONNECT)
def fail_messages(request: HttpRequest, session_id: int) -> HttpResponse:
    session = get_object_or_404(Session, pk=session_id)
    held = held_by_sessions([session.pk])[session.pk]
    question = Question(
        title=f"Fail the messages of {_named(session)}",
        says=[
            f"It holds {held} message{'' if held == 1 else 's'} now.",
            "Each is handled as if its client had sent `fail`: it goes to another client, or to the dead letters.",
            "The session stays connected. The program's work on the messages may be done twice.",
        ],
        button="Fail its messages",
        destroys=True,
    )

    def act() -> str:
        tally = session_fail_messages(session_id=session.pk, by=staff(request.user))
        return f"Messages of {_named(session)}: {tally}."

    return answer(request, question, act, back=reverse("console:sessions"))


def _named(session: Session) -> str:
    return f"session {session.pk}" + (f" of {session.client}" if session.client else "")
