"""What analysts can read, how fresh it is, and who is reading."""

from dataclasses import dataclass
from datetime import datetime

from delivery.facts.archive_models import PipelineOffset
from delivery.facts.models import PipelineRun, QueueFact
from delivery.figures.database import rows_of

MOST_READERS = 50


@dataclass(frozen=True, slots=True)
class View:
    name: str
    kind: str
    meaning: str
    columns: list[dict[str, str]]  # name, type, meaning


@dataclass(frozen=True, slots=True)
class Reader:
    pid: int
    user: str | None
    application: str
    address: str
    state: str | None
    connected_at: datetime
    seconds: float | None
    query: str


@dataclass(frozen=True, slots=True)
class Freshness:
    archived_at: datetime | None  # when the pipeline last moved on in the journal
    newest_fact: datetime | None
    runs: list[PipelineRun]


def analyst_views() -> list[View]:
    return [View(**row) for row in rows_of("analyst_views")]


def active_readers() -> list[Reader]:
    return [Reader(**row) for row in rows_of("active_readers", {"most": MOST_READERS})]


def freshness(runs: int = 10) -> Freshness:
    newest = QueueFact.objects.filter(grain="minute").order_by("-bucket").values_list("bucket", flat=True).first()
    offset = PipelineOffset.objects.first()
    latest = list(PipelineRun.objects.order_by("-id")[:runs])
    return Freshness(offset.moved_at if offset else None, newest, latest)
