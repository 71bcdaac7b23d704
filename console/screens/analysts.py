"""Analysts: what there is to read, what it means, how fresh it is, and who reads it now."""

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict

from console import readings
from console.frame import page, screen
from console.live.parts import Part
from delivery.figures.analysts import analyst_views
from delivery.operating.permissions import May


def read_analysts(given: QueryDict) -> dict[str, Any]:
    return {"readers": readings.active_readers(), "freshness": readings.freshness()}


PART = Part("console/parts/analysts.html", read_analysts, every=5.0)


@screen(May.LOOK, live=PART)
def analysts(request: HttpRequest) -> HttpResponse:
    lead = "Views and facts for reading with SQL, Spark or a notebook. They never touch the live messages."
    return page(request, "console/analysts.html", title="Analysts", part=PART, lead=lead, views=analyst_views())
