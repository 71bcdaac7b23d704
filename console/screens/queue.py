"""Queue: what happens in one queue, its settings, and who reads it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse

from clients.models import Subscription
from console import readings
from console.charts import Chart, Series
from console.effective_settings import effective_settings
from console.frame import page, screen
from console.live.parts import Part
from console.rate_charts import clock, rates_chart
from delivery.figures.times import PERCENTILES, SLOT_SECONDS, History, history, latest, recent_slots, recent_times
from delivery.inspection.diagnosis import why_queue
from delivery.inspection.tag_explainer import Explanation, explain_queue
from delivery.operating.dead_letters import dead_letter_queue_ids
from delivery.operating.permissions import May
from delivery.protocol.fields import Match
from queues.definitions import is_dead_letter_name
from queues.models import Queue

MOST_SUBSCRIPTIONS = 200


@dataclass(frozen=True, slots=True)
class Range:
    """How far back the charts go: the last minutes from the broker, the rest from the pipeline's facts."""

    title: str
    grain: str
    step: timedelta
    steps: int
    labels: str  # as strftime writes them


LIVE = "15m"
RANGES = {
    "6h": Range("6 hours", "minute", timedelta(minutes=1), 360, "%H:%M"),
    "7d": Range("7 days", "hour", timedelta(hours=1), 168, "%a %H:%M"),
    "90d": Range("90 days", "day", timedelta(days=1), 90, "%d %b"),
}
LINES = (("waiting, p50", "low", "wait_p50"), ("waiting, p95", "high", "wait_p95"))
WORK_LINES = (("working, p50", "low", "work_p50"), ("working, p95", "high", "work_p95"))


def read_queue(given: QueryDict, queue_id: int) -> dict[str, Any]:
    figures = readings.figures_of(queue_id)
    if figures is None:
        raise Http404("There is no such queue (any more).")
    chosen = given.get("range", LIVE)
    rates = readings.lately.rates(queue_id)
    return {
        "queue": figures,
        "causes": why_queue(Queue(pk=queue_id)),
        "rates": {name: rates.latest(name) for name in ("posted", "finished", "failed")},
        "ranges": [(LIVE, "15 minutes"), *((key, found.title) for key, found in RANGES.items())],
        "range": chosen if chosen in RANGES else LIVE,
        **(_past(queue_id, RANGES[chosen]) if chosen in RANGES else _now(queue_id)),
    }


def _now(queue_id: int) -> dict[str, Any]:
    times = recent_times(queue_id)
    labels = [clock(slot * SLOT_SECONDS) for slot in recent_slots()]
    charts = [_times_chart(labels, times, lines) for lines in (LINES, WORK_LINES)]
    return {
        "rates_chart": rates_chart("Messages of this queue per minute", readings.lately.rates(queue_id)),
        "wait_chart": charts[0],
        "work_chart": charts[1],
        "latest": {name: latest(times[name]) for name in PERCENTILES},
        "without_facts": False,
    }


def _past(queue_id: int, chosen: Range) -> dict[str, Any]:
    past = history(queue_id, grain=chosen.grain, step=chosen.step, steps=chosen.steps)
    labels = [f"{begin:{chosen.labels}}" for begin in past.begins]
    return {
        "rates_chart": _past_rates(labels, past),
        "wait_chart": _times_chart(labels, past.seconds, LINES),
        "work_chart": _times_chart(labels, past.seconds, WORK_LINES),
        "latest": {name: latest(past.seconds[name]) for name in PERCENTILES},
        "without_facts": past.is_empty,
    }


def _past_rates(labels: list[str], past: History) -> Chart:
    finished = [
        (one or 0) + (other or 0)
        for one, other in zip(past.per_minute["finished"], past.per_minute["popped"], strict=True)
    ]
    series = [
        Series("posted", "posted", past.per_minute["posted"]),
        Series("finished", "finished", finished),
        Series("failed", "failed", past.per_minute["failed"]),
        Series("dead", "dead", past.per_minute["dead"]),
    ]
    return Chart("Messages of this queue per minute", labels, series, unit="/min")


def _times_chart(labels: list[str], times: dict[str, list[float | None]], lines: Any) -> Chart:
    series = [Series(name, tone, [_milliseconds(value) for value in times[which]]) for name, tone, which in lines]
    return Chart("Milliseconds", labels, series, unit=" ms")


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


PART = Part("console/parts/queue.html", read_queue)


@screen(May.LOOK, live=PART)
def queue(request: HttpRequest, queue_id: int) -> HttpResponse:
    found = get_object_or_404(Queue, pk=queue_id)
    subscriptions = subscriptions_of(found)
    return page(
        request,
        "console/queue.html",
        title=found.name,
        part=PART,
        record=found,
        settings=effective_settings(found),
        dead_letters=not is_dead_letter_name(found.name) and dead_letter_queue_ids(name=found.name),
        matching=[(wish, why) for wish, why in subscriptions if why.matches],
        not_matching=[(wish, why) for wish, why in subscriptions if not why.matches],
        breadcrumbs=[{"title": "Queues", "link": reverse("console:queues")}],
    )


def subscriptions_of(queue: Queue) -> list[tuple[Subscription, Explanation]]:
    """The subscriptions of registered clients that name this queue, and why each does or does not match it."""
    wishes = Subscription.objects.filter(name=queue.name).select_related("client").order_by("client__name", "id")
    return [(wish, explain_queue(queue, wish.tags, cast(Match, wish.match))) for wish in wishes[:MOST_SUBSCRIPTIONS]]
