"""Reaper: when each duty was last done, and what came of it."""

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict

from console import readings
from console.frame import page, screen
from console.live.parts import Part
from delivery.figures.reaper import duty_reports
from delivery.operating.permissions import May


def read_reaper(given: QueryDict) -> dict[str, Any]:
    reports = duty_reports(readings.duties())
    return {
        "active": readings.active_reaper(),
        "reports": reports,
        "failing": sum(1 for report in reports if report.last and report.last.error),
        "handled": sum(report.last.handled_total for report in reports if report.last),
    }


PART = Part("console/parts/reaper.html", read_reaper)


@screen(May.LOOK, live=PART)
def reaper(request: HttpRequest) -> HttpResponse:
    lead = (
        "Work that is due by time, such as timeouts and retention. One reaper is active, the others wait to take over."
    )
    return page(request, "console/reaper.html", title="Reaper", part=PART, lead=lead)
