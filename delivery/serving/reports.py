"""Every service with its figures and its workers, in a number of queries that does not grow with them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from delivery.moves.service_names import service_of
from delivery.serving.models import Service, ServiceConfig, Worker
from delivery.serving.selectors import Figures, service_figures


@dataclass(frozen=True, slots=True)
class ServiceReport:
    queue: Service
    figures: Figures
    workers: list[Worker]  # as workers_of orders them
    config: ServiceConfig | None

    @property
    def name(self) -> str:
        return service_of(self.queue.name)

    @property
    def in_line(self) -> int:
        return sum(1 for worker in self.workers if worker.free > 0)

    @property
    def is_unserved(self) -> bool:
        return not self.workers and self.figures.waiting > 0


def service_reports(services: Iterable[Service]) -> list[ServiceReport]:
    found = list(services)
    figures = service_figures(service.pk for service in found)
    workers = workers_by_queue()
    configs = ServiceConfig.objects.in_bulk([service_of(service.name) for service in found], field_name="name")
    return [
        ServiceReport(service, figures[service.pk], workers[service.pk], configs.get(service_of(service.name)))
        for service in found
    ]


def workers_by_queue() -> defaultdict[int, list[Worker]]:
    """Of every service: first those in the line, the next one at the head; then those that have no slot free."""
    by_queue: defaultdict[int, list[Worker]] = defaultdict(list)
    for worker in sorted(Worker.objects.all(), key=lambda worker: (worker.free == 0, worker.waited_since)):
        for queue_id in worker.queue_ids:
            by_queue[queue_id].append(worker)
    return by_queue
