"""Tables of the report: what each column shows, and how."""

from collections.abc import Callable, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from pipeline.report import wording
from pipeline.report.elements import element
from pipeline.report.figures import Listing, Row

Show = Callable[[Row], str]
Column = tuple[str, Show]  # heading, and what stands below it


def shown(field: str, how: Callable[[Any], str]) -> Show:
    return lambda row: how(row[field])


def table(caption: str, columns: Sequence[Column], listing: Listing) -> Element:
    """The first column names the row; the others are numbers."""
    head = element("tr", *(element("th", heading, scope="col") for heading, _ in columns))
    body = [
        element(
            "tr",
            element("th", columns[0][1](row), scope="row"),
            *(element("td", show(row)) for _, show in columns[1:]),
        )
        for row in listing.rows
    ]
    left_out = listing.total - len(listing.rows)
    note = f"{caption} {left_out:,} more are not shown." if left_out else caption
    made = element("table", element("caption", note), element("thead", head), element("tbody", *body))
    return element("div", made, class_="wide", tabindex="0", role="region", aria_label=caption)


def _name_of_queue(row: Row) -> str:
    return wording.queue(row["queue_name"], row["queue_tags"])


def _name_of_worker(row: Row) -> str:
    return row["name"] or "(without a name)"


QUEUES: tuple[Column, ...] = (
    ("Queue", _name_of_queue),
    ("Posted", shown("posted", wording.count)),
    ("Completed", shown("completed", wording.count)),
    ("Failed attempts", shown("failed", wording.count)),
    ("Dead", shown("dead", wording.count)),
    ("Dropped", shown("dropped", wording.count)),
    ("Size", shown("bytes", wording.size)),
    ("Wait p50", shown("wait_p50", wording.duration)),
    ("Wait p95", shown("wait_p95", wording.duration)),
    ("Work p50", shown("work_p50", wording.duration)),
    ("Work p95", shown("work_p95", wording.duration)),
    ("Oldest", shown("oldest_age", wording.duration)),
)
SERVICES: tuple[Column, ...] = (
    ("Service", lambda row: str(row["service"])),
    ("Requests", shown("requests", wording.count)),
    ("Answered", shown("answered", wording.count)),
    ("Failed", shown("failed", wording.count)),
    ("Latency p50", shown("latency_p50", wording.duration)),
    ("p95", shown("latency_p95", wording.duration)),
    ("p99", shown("latency_p99", wording.duration)),
    ("Longest", shown("latency_max", wording.duration)),
)


def work_columns(who: str) -> tuple[Column, ...]:
    return (
        (who, _name_of_worker),
        ("Finished", shown("finished", wording.count)),
        ("Failed attempts", shown("failed", wording.count)),
        ("Work p50", shown("work_p50", wording.duration)),
        ("Work p95", shown("work_p95", wording.duration)),
        ("Longest", shown("work_max", wording.duration)),
    )
