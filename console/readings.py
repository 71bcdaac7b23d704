"""What the screens show of the broker, read once per node."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.utils import timezone

from clients.models import Node
from console.once_per_node import once_per_node
from delivery.figures import analysts, reaper, schedules
from delivery.figures import database as db
from delivery.figures.analysts import AnalystConnection, Freshness
from delivery.figures.database import JournalDay, Server, Snapshot, Table, oldest_snapshots
from delivery.figures.dead_letters import died_lately
from delivery.figures.queues import QueueFigures, all_queue_figures
from delivery.figures.reaper import ActiveReaper
from delivery.figures.recent_rates import Lately
from delivery.models import DutyRun, HealthFinding
from delivery.serving.models import Service
from delivery.serving.reports import ServiceReport, service_reports
from queues.models import Queue

FRESH_SECONDS = 1.5  # for which counts are good enough
SLOW_SECONDS = 5.0  # for which it is, of what changes slowly
MOST_DEAD_QUEUES = 200  # whose growth is looked at: the largest
MOST_FINDINGS = 100

lately = Lately()


class Queues(NamedTuple):
    all: list[QueueFigures]
    by_id: dict[int, QueueFigures]


@once_per_node(FRESH_SECONDS)
def queue_figures() -> Queues:
    """All queues; with each reading, what happened lately is brought up to date."""
    figures = all_queue_figures()
    lately.look({queue.id: queue.newest_index for queue in figures})
    return Queues(figures, {queue.id: queue for queue in figures})


def figures_of(queue_id: int) -> QueueFigures | None:
    """Of one queue, also of one that came to be since the last reading."""
    found = queue_figures().by_id.get(queue_id)
    if found is None and Queue.objects.filter(pk=queue_id).exists():
        queue_figures.forget()  # type: ignore[attr-defined]
        found = queue_figures().by_id.get(queue_id)
    return found


@once_per_node(FRESH_SECONDS)
def nodes() -> list[Node]:
    return list(Node.objects.order_by("name"))


@once_per_node(FRESH_SECONDS)
def duties() -> list[DutyRun]:
    return list(DutyRun.objects.order_by("duty"))


@once_per_node(SLOW_SECONDS)
def snapshots() -> list[Snapshot]:
    return oldest_snapshots()


@once_per_node(SLOW_SECONDS)
def dead_letter_growth() -> dict[int, int]:
    """By dead letter queue: how many messages came within the hour."""
    filled = [queue for queue in queue_figures().all if queue.is_dead_letters and queue.live]
    largest = sorted(filled, key=lambda queue: -queue.live)[:MOST_DEAD_QUEUES]
    return died_lately(queue.id for queue in largest)


@once_per_node(SLOW_SECONDS)
def findings() -> list[HealthFinding]:
    """What the last run of the data pipeline found odd, worst first."""
    worst_first = {"critical": 0, "warning": 1, "note": 2}
    return sorted(HealthFinding.objects.all()[:MOST_FINDINGS], key=lambda finding: worst_first[finding.severity])


@once_per_node(FRESH_SECONDS)
def services() -> list[ServiceReport]:
    return service_reports(Service.objects.order_by("name"))


@once_per_node(FRESH_SECONDS)
def late_schedules() -> list[tuple[str, float]]:
    return schedules.late_schedules()


@once_per_node(SLOW_SECONDS)
def active_reaper() -> ActiveReaper | None:
    return reaper.active_reaper()


@once_per_node(SLOW_SECONDS)
def active_readers() -> list[AnalystConnection]:
    return analysts.active_readers()


@once_per_node(SLOW_SECONDS)
def freshness() -> Freshness:
    return analysts.freshness()


@dataclass(frozen=True, slots=True)
class DatabaseHealth:
    server: Server
    tables: list[Table]
    journal_days: list[JournalDay]
    first_sizes: dict[str, int]  # of each table, when this node first looked
    first_read_at: datetime


_first: list[tuple[dict[str, int], datetime]] = []


@once_per_node(SLOW_SECONDS)
def database() -> DatabaseHealth:
    tables = db.tables()
    if not _first:
        _first.append(({table.name: table.bytes for table in tables}, timezone.now()))
    sizes, read_at = _first[0]
    return DatabaseHealth(db.server(), tables, db.journal_days(), sizes, read_at)
