"""Services: how each is doing, and its workers in the order in which they get the next request."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone

from console import readings
from console.frame import page, screen
from console.live.parts import Part
from delivery.moves.service_names import service_of
from delivery.operating.permissions import May
from delivery.serving.models import Service
from delivery.serving.reports import ServiceReport


def read_services(given: QueryDict) -> dict[str, Any]:
    return {"services": readings.services()}


def read_service(given: QueryDict, queue_id: int) -> dict[str, Any]:
    report = _report(queue_id)
    nodes = {node.id: node.name for node in readings.nodes()}
    now = timezone.now()
    line = [
        {
            "worker": worker,
            "node": nodes.get(worker.node_id, "gone"),
            "silent": (now - worker.seen_at).total_seconds(),
            "is_late": (now - worker.seen_at).total_seconds() > 2 * worker.heartbeat_interval,
        }
        for worker in report.workers
    ]
    return {"report": report, "line": line}


def _report(queue_id: int) -> ServiceReport:
    for report in readings.services():
        if report.queue.pk == queue_id:
            return report
    raise Http404("There is no such service (any more).")


SERVICES = Part("console/parts/services.html", read_services)
SERVICE = Part("console/parts/service.html", read_service)


@screen(May.LOOK, live=SERVICES)
def services(request: HttpRequest) -> HttpResponse:
    lead = "Requests go to the worker that has waited longest. Figures are of the last hour."
    return page(request, "console/services.html", title="Services", part=SERVICES, lead=lead)


@screen(May.LOOK, live=SERVICE)
def service(request: HttpRequest, queue_id: int) -> HttpResponse:
    queue = Service.objects.filter(pk=queue_id).first()
    if queue is None:
        raise Http404("There is no such service (any more).")
    return page(
        request,
        "console/service.html",
        title=service_of(queue.name),
        part=SERVICE,
        breadcrumbs=[{"title": "Services", "link": reverse("console:services")}],
    )
