"""Charts of what happened in the last minutes."""

from datetime import UTC, datetime

from console.charts import Chart, Series
from delivery.figures.recent_rates import Rates

FEWEST_SLOTS = 18  # three minutes


def rates_chart(about: str, rates: Rates) -> Chart:
    """From the first that is known on, and without the last slot, which has only begun."""
    shown = slice(_first_known(rates), -1)
    return Chart(
        about,
        [clock(slot) for slot in rates.slots[shown]],
        [
            Series("posted", "posted", rates.posted[shown]),
            Series("finished", "finished", rates.finished[shown]),
            Series("failed", "failed", rates.failed[shown]),
        ],
        unit="/min",
    )


def _first_known(rates: Rates) -> int:
    rows = zip(rates.posted, rates.finished, rates.failed, strict=True)
    first = next((place for place, row in enumerate(rows) if any(row)), 0)
    return max(min(first - 1, len(rates.slots) - FEWEST_SLOTS), 0)


def clock(epoch: float) -> str:
    return f"{datetime.fromtimestamp(epoch, UTC):%H:%M:%S}"
