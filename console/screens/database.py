"""Database health: what slows a queue on PostgreSQL down, before it does."""

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone

from console import readings
from console.charts import Chart, Series
from console.frame import page, screen
from console.health import SNAPSHOT_SECONDS
from console.live.parts import Part
from delivery.operating.permissions import May

DEAD_ROWS = 100_000  # of one table, beyond which vacuum is behind
DEAD_SHARE = 0.2
MEGABYTE = 1_000_000


def read_database(given: QueryDict) -> dict[str, Any]:
    health = readings.database()
    today = timezone.now().date()
    days = [day for day in reversed(health.journal_days) if day.day <= today]
    return {
        "server": health.server,
        "tables": [
            {
                "table": table,
                "is_behind": table.dead_rows > DEAD_ROWS and table.dead_share > DEAD_SHARE,
                "grown": table.bytes - health.first_sizes.get(table.name, table.bytes),
            }
            for table in health.tables
        ],
        "since": health.first_read_at,
        "snapshots": readings.snapshots(),
        "long_snapshot": SNAPSHOT_SECONDS,
        "journal_chart": Chart(
            "Megabytes that each day of the journal takes",
            [f"{day.day:%d %b}" for day in days],
            [Series("journal", "posted", [day.bytes / MEGABYTE for day in days])],
            unit=" MB",
        ),
        "journal_days": len(days),
    }


PART = Part("console/parts/database.html", read_database, every=5.0)


@screen(May.LOOK, live=PART)
def database(request: HttpRequest) -> HttpResponse:
    return page(request, "console/database.html", title="Database health", part=PART)
