"""Queues: all of them, with what each holds and who reads it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, QueryDict

from console import readings
from console.frame import page, screen
from console.health import FULL_SHARE, OLD_SECONDS
from console.live.parts import Part
from delivery.figures.queues import QueueFigures
from delivery.operating.permissions import May

PAGE_ROWS = 50

Test = Callable[[QueueFigures], bool]

ONLY: dict[str, tuple[str, Test]] = {
    "": ("All", lambda queue: True),
    "work": ("Work", lambda queue: not queue.is_stream and not queue.is_dead_letters),
    "stream": ("Streams", lambda queue: queue.is_stream),
    "dead": ("Dead letters", lambda queue: queue.is_dead_letters),
    "unconsumed": ("Nobody consumes", lambda queue: queue.is_unconsumed),
    "slow": ("Slow", lambda queue: not queue.is_dead_letters and (queue.oldest_age or 0) > OLD_SECONDS),
    "paused": ("Paused", lambda queue: queue.paused),
    "full": (
        "Nearly full",
        lambda queue: bool(queue.max_length) and queue.live >= (queue.max_length or 0) * FULL_SHARE,
    ),
}

ORDERS: dict[str, tuple[str, Callable[[QueueFigures], Any]]] = {
    "name": ("Name", lambda queue: (queue.name, queue.tags)),
    "age": ("Oldest first", lambda queue: -(queue.oldest_age or 0)),
    "depth": ("Deepest first", lambda queue: -queue.live),
    "flight": ("Most in flight", lambda queue: -queue.claimed),
}


@dataclass(frozen=True, slots=True)
class Row:
    queue: QueueFigures
    posts: Sequence[float]

    @property
    def posts_per_minute(self) -> float:
        return sum(self.posts[-6:]) / 6


def read_queues(given: QueryDict) -> dict[str, Any]:
    """`search` is part of a name or tag, `only` one of ONLY, `order` one of ORDERS."""
    everything = readings.queue_figures().all
    only = given.get("only", "") if given.get("only", "") in ONLY else ""
    order = given.get("order", "name") if given.get("order", "name") in ORDERS else "name"
    search = given.get("search", "").strip()
    fitting = [queue for queue in everything if _contains(queue, search.lower())]
    chosen = sorted(filter(ONLY[only][1], fitting), key=ORDERS[order][1])
    shown: Page[QueueFigures] = Paginator(chosen, PAGE_ROWS).get_page(given.get("page"))
    return {
        "rows": [Row(queue, readings.lately.posts_of(queue.id)[:-1]) for queue in shown],
        "shown": shown,
        "total": len(everything),
        "search": search,
        "only": only,
        "order": order,
        "choices": [(key, name, sum(map(test, fitting))) for key, (name, test) in ONLY.items()],
        "orders": [(key, name) for key, (name, _) in ORDERS.items()],
    }


def _contains(queue: QueueFigures, text: str) -> bool:
    return text in queue.name.lower() or any(text in tag.lower() for tag in queue.tags)


PART = Part("console/parts/queues.html", read_queues)


@screen(May.LOOK, live=PART)
def queues(request: HttpRequest) -> HttpResponse:
    return page(request, "console/queues.html", title="Queues", part=PART)
