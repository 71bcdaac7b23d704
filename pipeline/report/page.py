"""The page: its sections in their order."""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import resources
from xml.etree.ElementTree import Element

from pipeline.report import tables, wording
from pipeline.report.charts import COUNTS, DURATIONS, Line, Value, buckets_between, line_chart
from pipeline.report.elements import element, html
from pipeline.report.figures import Figures, Period, Row

CHARTED_QUEUES = 8
SEVERITIES = {"critical": "Critical", "warning": "Warning", "note": "Note"}


def page(figures: Figures) -> str:
    title = f"Willow, {figures.period.first} to {figures.period.last}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", _style()),
    )
    main = element("main", _health(figures), *(_activity(figures) if figures.queues.rows else [_nothing()]))
    body = element("body", _header(figures), main)
    return html(element("html", head, body, lang="en"))


def _style() -> str:
    """Of this package, which may be in a zip."""
    return resources.files("pipeline.report").joinpath("style.css").read_text(encoding="utf-8")


def _header(figures: Figures) -> Element:
    last_run = (
        f"the pipeline last ran at {wording.moment(figures.last_run)}" if figures.last_run else "no run has ended yet"
    )
    made = f"Made at {wording.moment(figures.made_at)}; {last_run}. All times are UTC."
    days = (element("span", str(day), class_="whole") for day in (figures.period.first, figures.period.last))
    heading = element("h1", "Willow, ", next(days), " to ", next(days))
    return element("header", heading, element("p", made, class_="quiet"))


def _nothing() -> Element:
    return element(
        "p",
        "There are no facts for these days. ",
        element("code", "./willow pipeline run"),
        " computes them from the journal.",
    )


def _section(heading: str, *parts: Element) -> Element:
    return element("section", element("h2", heading), *parts)


def _health(figures: Figures) -> Element:
    if not figures.findings:
        return _section("Health", element("p", "Nothing out of the ordinary was found.", class_="quiet"))
    items = (
        element(
            "li",
            element("strong", SEVERITIES[row["severity"]], class_=f"badge {row['severity']}"),
            f" {row['sentence']}",
        )
        for row in figures.findings
    )
    return _section("Health", element("ul", *items, class_="findings"))


def _activity(figures: Figures) -> list[Element]:
    made_of_days = element(
        "p",
        "Waiting time runs from post to the last assignment, working time from assignment to finish. "
        "Percentiles in tables are those of the worst day.",
        class_="quiet",
    )
    sections = [
        _section("Messages", _tiles(figures.totals), _overall_chart(figures)),
        _section(
            "Queues",
            made_of_days,
            tables.table("Queues, the busiest first.", tables.QUEUES, figures.queues),
            _queue_charts(figures),
        ),
    ]
    if figures.services.rows:
        sections.append(
            _section("Services", tables.table("Services, the busiest first.", tables.SERVICES, figures.services))
        )
    if figures.clusters.rows:
        sections.append(_dead_letters(figures))
    for heading, listing in (("Clients", figures.clients), ("Nodes", figures.nodes)):
        columns = tables.work_columns(heading.removesuffix("s"))
        sections.append(_section(heading, tables.table(f"{heading}, the busiest first.", columns, listing)))
    return sections


def _tiles(totals: Row) -> Element:
    shown = (
        ("posted", wording.count(totals["posted"])),
        ("completed", wording.count(totals["completed"])),
        ("failed attempts", wording.count(totals["failed"])),
        ("dead", wording.count(totals["dead"])),
        ("dropped", wording.count(totals["dropped"])),
        ("in bodies", wording.size(totals["bytes"])),
        ("queues", wording.count(totals["queues"])),
    )
    tiles = (element("div", element("dt", name), element("dd", value)) for name, value in shown)
    return element("dl", *tiles, class_="tiles")


def _buckets(period: Period) -> list[datetime]:
    first, past = (datetime.fromisoformat(period.bounds[bound]).astimezone(UTC) for bound in ("first", "past"))
    return buckets_between(first, past, period.grain)


def _values(rows: Sequence[Row], buckets: Sequence[datetime], field: str, known_until: datetime | None) -> list[Value]:
    """Where there is no fact, nothing happened: 0 up to `known_until`, and a gap after that, or everywhere."""
    found = {row["bucket"].astimezone(UTC): row[field] for row in rows}
    return [found.get(bucket, 0 if known_until is not None and bucket <= known_until else None) for bucket in buckets]


def _count_lines(rows: Sequence[Row], buckets: Sequence[datetime], known_until: datetime) -> list[Line]:
    return [
        Line("posted", "line-1 dashed", _values(rows, buckets, "posted", known_until)),
        Line("completed", "line-2", _values(rows, buckets, "completed", known_until)),
        Line("failed attempts", "line-3", _values(rows, buckets, "failed", known_until)),
    ]


def _overall_chart(figures: Figures) -> Element:
    buckets = _buckets(figures.period)
    title = f"All queues, messages per {figures.period.grain}"
    return line_chart(title, buckets, _count_lines(figures.overall, buckets, figures.known_until), COUNTS)


def _queue_charts(figures: Figures) -> Element:
    buckets, grain = _buckets(figures.period), figures.period.grain
    charts = []
    for queue in figures.queues.rows[:CHARTED_QUEUES]:
        rows = [row for row in figures.queue_buckets if row["queue_id"] == queue["queue_id"]]
        name = wording.queue(queue["queue_name"], queue["queue_tags"])
        times = [
            Line("wait p95", "line-1 dashed", _values(rows, buckets, "wait_p95", None)),
            Line("work p95", "line-2", _values(rows, buckets, "work_p95", None)),
        ]
        charts += [
            line_chart(
                f"{name}, messages per {grain}", buckets, _count_lines(rows, buckets, figures.known_until), COUNTS
            ),
            line_chart(f"{name}, times per {grain}", buckets, times, DURATIONS),
        ]
    return element("div", *charts, class_="charts")


def _dead_letters(figures: Figures) -> Element:
    left_out = figures.clusters.total - len(figures.clusters.rows)
    more = [element("p", f"{left_out:,} smaller clusters are not shown.", class_="quiet")] if left_out else []
    return _section(
        "Dead letters",
        element(
            "p",
            "Messages that died of the same error, apart from numbers, names and the like.",
            class_="quiet",
        ),
        element("ol", *map(_cluster, figures.clusters.rows), class_="clusters"),
        *more,
    )


def _cluster(row: Row) -> Element:
    name = wording.queue(row["queue_name"], row["queue_tags"])
    seen = f"{wording.moment(row['first_seen'])} to {wording.moment(row['last_seen'])}"
    example = (
        element("details", element("summary", "The last of them"), element("pre", row["example"]))
        if row["example"]
        else None
    )
    return element(
        "li",
        element("strong", wording.count(row["count"])),
        " \N{MULTIPLICATION SIGN} ",
        element("code", row["signature"] or "(no error text)"),
        element("div", f"{name}, {row['reason']}, {seen}", class_="quiet"),
        example,
    )
