"""Overview: is everything well, and if not, what and where."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone

from console import readings
from console.frame import page, screen
from console.health import is_silent, light_of, waiting_queues
from console.live.parts import Part
from console.rate_charts import rates_chart
from delivery.figures.dead_letters import MOST_COUNTED
from delivery.figures.queues import QueueFigures
from delivery.figures.recent_rates import Rates
from delivery.operating.permissions import May

MOST_LISTED = 8


def read_overview(given: QueryDict) -> dict[str, Any]:
    queues = readings.queue_figures().all
    growth = readings.dead_letter_growth()
    dead_lately = sum(growth.values())
    nodes = readings.nodes()
    rates = readings.lately.rates()
    dead = sorted((q for q in queues if q.is_dead_letters and q.live), key=lambda q: (-growth.get(q.id, 0), -q.live))
    now = timezone.now()
    return {
        "light": light_of(
            queues, nodes, readings.duties(), readings.snapshots(), dead_lately, readings.late_schedules()
        ),
        "figures": _figures(queues, rates, dead_lately),
        "chart": rates_chart("Messages per minute over the last quarter of an hour", rates),
        "waiting": waiting_queues(queues)[:MOST_LISTED],
        "dead": [(queue, growth.get(queue.id, 0)) for queue in dead[:MOST_LISTED]],
        "most_counted": MOST_COUNTED,
        "nodes": [(node, is_silent(node, now)) for node in nodes],
        "findings": readings.findings()[:MOST_LISTED],
    }


def _figures(queues: Sequence[QueueFigures], rates: Rates, dead_lately: int) -> dict[str, float | None]:
    return {
        "posted": rates.latest("posted"),
        "finished": rates.latest("finished"),
        "failed": rates.latest("failed"),
        "ready": sum(queue.ready for queue in queues if not queue.is_dead_letters),
        "delayed": sum(queue.delayed for queue in queues),
        "claimed": sum(queue.claimed for queue in queues),
        "dead": sum(queue.live for queue in queues if queue.is_dead_letters),
        "dead_lately": dead_lately,
        "queues": len(queues),
    }


PART = Part("console/parts/overview.html", read_overview)


@screen(May.LOOK, live=PART)
def overview(request: HttpRequest) -> HttpResponse:
    return page(request, "console/overview.html", title="Overview", part=PART)
