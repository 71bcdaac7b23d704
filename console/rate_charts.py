"""Charts of what happened in the last minutes."""

from datetime import UTC, datetime

from console.charts import Chart, Series
from delivery.figures.lately import Rates


def rates_chart(about: str, rates: Rates) -> Chart:
    """Without its last slot, which has only begun."""
    return Chart(
        about,
        [clock(slot) for slot in rates.slots[:-1]],
        [
            Series("posted", "posted", rates.posted[:-1]),
            Series("finished", "finished", rates.finished[:-1]),
            Series("failed", "failed", rates.failed[:-1]),
        ],
        unit="/min",
    )


def clock(epoch: float) -> str:
    return f"{datetime.fromtimestamp(epoch, UTC):%H:%M:%S}"
