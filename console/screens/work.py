"""Work in progress: which worker runs what now, the longest first."""

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone

from console.frame import page, screen
from console.live.parts import Part
from delivery.figures.work import LOOKED_AT, MOST_SHOWN, work_in_progress
from delivery.operating.permissions import May


def read_work(given: QueryDict) -> dict[str, Any]:
    """`queue` is a queue's name."""
    wanted = given.get("queue", "").strip()
    now = timezone.now()
    works = work_in_progress(queue=wanted or None)
    return {
        "works": [
            {
                "work": work,
                "seconds": max((now - work.assigned_at).total_seconds(), 0),
                "is_late": work.lease_until is not None and work.lease_until <= now,
            }
            for work in works
        ],
        "wanted": wanted,
        "is_partial": len(works) >= MOST_SHOWN,
        "looked_at": LOOKED_AT,
    }


PART = Part("console/parts/work.html", read_work)


@screen(May.LOOK, live=PART)
def work(request: HttpRequest) -> HttpResponse:
    lead = "Messages that clients work on now, the longest first."
    return page(request, "console/work.html", title="Work in progress", part=PART, lead=lead)
