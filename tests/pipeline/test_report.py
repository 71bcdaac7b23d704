"""The report: what it shows, that nothing in it can do harm, and that it needs nothing from elsewhere."""

import argparse
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from pipeline.database import connect
from pipeline.errors import PipelineError
from pipeline.report import command, wording
from pipeline.report.charts import COUNTS, DURATIONS, Line, line_chart
from pipeline.report.figures import Period, read_figures
from pipeline.report.page import page
from tests.support.databases import Databases, query

PERIOD = Period(date(2026, 11, 10), date(2026, 11, 16))
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 15, tzinfo=UTC)
HOSTILE = '</code></style><script>alert("7")</script><img src=x onerror=alert(7)> "\' onclick="x" &amp; \x01\x9b'


class Parsed(HTMLParser):
    """The elements and texts of a page, as a browser would find them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


@pytest.fixture
def url(databases: Databases) -> Iterator[str]:
    url = databases.make()
    yield url
    databases.drop(url)


def insert(url: str, table: str, **row: Any) -> None:
    columns = ", ".join(row)
    places = ", ".join(["%s"] * len(row))
    query(url, f"INSERT INTO {table} ({columns}) VALUES ({places})", *row.values())


def queue_fact(url: str, **row: Any) -> None:
    ordinary = {"grain": "day", "bucket": MIDNIGHT, "queue_id": 1, "queue_name": "orders", "queue_tags": ["eu"]}
    insert(url, "willow_queue_facts", **{**ordinary, "dead_by_reason": Jsonb({}), **row})


def report(url: str, period: Period = PERIOD) -> str:
    with connect(url) as connection:
        return page(read_figures(connection, period, charted_queues=8))


def test_the_page_shows_the_facts_of_its_days(url: str) -> None:
    queue_fact(url, posted=1200, finished=1000, popped=100, failed=7, dead=3, bytes=2048, wait_p95=1.5, work_p50=0.25)
    queue_fact(url, bucket=datetime(2026, 11, 16, tzinfo=UTC), posted=34, finished=30, wait_p95=150.0)
    queue_fact(url, bucket=datetime(2026, 11, 17, tzinfo=UTC), posted=5_000_000)
    queue_fact(url, grain="hour", bucket=NOON, posted=77, finished=66, failed=5, wait_p95=0.5)
    insert(url, "willow_service_facts", grain="day", bucket=MIDNIGHT, service="resize", requests=9, latency_p99=0.031)
    insert(url, "willow_client_facts", grain="day", bucket=MIDNIGHT, client="", finished=4)
    insert(url, "willow_node_facts", grain="day", bucket=MIDNIGHT, node="node-1", finished=5)
    insert(url, "willow_health_findings", kind="deaths", severity="warning", sentence="Some died.", at=NOON)
    html = report(url)
    texts = Parsed(html).texts
    for expected in (
        "1,234", "1,130", "2.0 KiB",  # the totals
        "orders [eu]", "2.5 min", "250 ms",  # the worst day of the queue
        "2026-11-15 12:00: posted 77, completed 66, failed attempts 5",
        "2026-11-15 12:00: wait p95 500 ms, work p95 \N{EN DASH}",
        "resize", "31 ms", "(without a name)", "node-1", "Warning", "Some died.",
    ):  # fmt: skip
        assert expected in texts, expected
    assert "5,000,0" not in html


def test_hostile_texts_stay_texts(url: str) -> None:
    printable = HOSTILE.replace("\x01", "\N{REPLACEMENT CHARACTER}").replace("\x9b", "\N{REPLACEMENT CHARACTER}")
    queue_fact(url, queue_name=HOSTILE, queue_tags=[HOSTILE], posted=1)
    insert(url, "willow_service_facts", grain="day", bucket=MIDNIGHT, service=HOSTILE, requests=1)
    insert(url, "willow_client_facts", grain="day", bucket=MIDNIGHT, client=HOSTILE)
    insert(url, "willow_node_facts", grain="day", bucket=MIDNIGHT, node=HOSTILE)
    insert(url, "willow_health_findings", kind="deaths", severity="note", sentence=HOSTILE, at=NOON)
    cluster = {"queue_name": HOSTILE, "queue_tags": [], "signature": HOSTILE, "example": HOSTILE, "reason": HOSTILE}
    insert(
        url,
        "willow_dead_letter_clusters",
        day=PERIOD.last,
        queue_id=1,
        count=3,
        first_seen=NOON,
        last_seen=NOON,
        **cluster,
    )
    parsed = Parsed(report(url))
    assert not {"script", "img", "a", "iframe", "link", "object"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert parsed.texts.count(printable) == 6  # finding, service, client, node, signature, example


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing(url: str) -> None:
    queue_fact(url, posted=1)
    html = report(url)
    assert not re.search(r"https?:|//|url\(|@import", html)
    assert not {"script", "link", "img"} & set(Parsed(html).tags)


def test_the_page_can_be_read_without_seeing_it(url: str) -> None:
    queue_fact(url, posted=1)
    queue_fact(url, grain="hour", bucket=NOON, posted=1, finished=3)
    parsed = Parsed(report(url))
    assert ("lang", "en") in parsed.attributes
    assert parsed.tags.count("caption") == parsed.tags.count("table")
    described = [text for name, text in parsed.attributes if name == "aria-label" and text and "per hour" in text]
    assert any("completed: from 0 to 3, last 0." in text for text in described), described
    assert len(described) == parsed.tags.count("svg") == 3


def test_long_tables_say_what_they_leave_out(url: str) -> None:
    for number in range(203):
        queue_fact(url, queue_id=number, queue_name=f"queue-{number}", posted=number)
    texts = Parsed(report(url)).texts
    assert "Queues, the busiest first. 3 more are not shown." in texts
    assert "queue-3 [eu]" in texts and "queue-2 [eu]" not in texts


def test_clusters_of_several_days_are_one(url: str) -> None:
    queue_fact(url, posted=1)
    for day, count, example in ((14, 2, "order 7"), (15, 40, "order 9")):
        seen = datetime(2026, 11, day, 3, tzinfo=UTC)
        cluster = {"queue_id": 1, "queue_name": "orders", "queue_tags": [], "reason": "failed", "signature": "order #"}
        insert(
            url, "willow_dead_letter_clusters",
            day=seen.date(), count=count, first_seen=seen, last_seen=seen, example=example, **cluster,
        )  # fmt: skip
    texts = Parsed(report(url)).texts
    for expected in ("42", "order #", "order 9", "orders, failed, 2026-11-14 03:00 to 2026-11-15 03:00"):
        assert expected in texts, expected


def test_a_long_period_is_shown_by_day(url: str) -> None:
    queue_fact(url, posted=5)
    texts = Parsed(report(url, Period(date(2026, 10, 1), date(2026, 11, 16)))).texts
    assert "All queues, messages per day" in texts
    assert "2026-11-15 00:00: posted 5, completed 0, failed attempts 0" in texts


def test_without_facts_the_page_says_so(url: str) -> None:
    texts = Parsed(report(url)).texts
    assert "There are no facts for these days." in texts
    assert "Nothing out of the ordinary was found." in texts


# the command


def run_command(monkeypatch: pytest.MonkeyPatch, url: str, *arguments: str) -> int:
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("WILLOW_PIPELINE_ARCHIVE", "/nowhere")
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.main(parser.parse_args(arguments))


def test_the_command_writes_the_page(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue_fact(url, posted=1)
    file = tmp_path / "report.html"
    days = ("--since", "2026-11-10", "--until", "2026-11-16")
    assert run_command(monkeypatch, url, *days, "--output", str(file)) == 0
    assert "orders [eu]" in file.read_text(encoding="utf-8")
    assert capsys.readouterr().out == f"Wrote {file}: 2026-11-10 to 2026-11-16, 1 queues.\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--since", "2026-11-10", "--until", "2026-11-09"), "--since is 2026-11-10, which is after --until"),
        (("--since", "2020-01-01", "--until", "2026-11-09"), "more than 366 days"),
        (("--output", "/nowhere/report.html"), "/nowhere/report.html cannot be written"),
    ],
)
def test_bad_arguments_are_explained(
    url: str, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(PipelineError, match=re.escape(reason)):
        run_command(monkeypatch, url, *arguments)


# words and lines


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "\N{EN DASH}"), (0, "0 s"), (0.000004, "0.00 ms"), (0.0021, "2.1 ms"), (0.25, "250 ms"), (1.0, "1.0 s"),
        (75.0, "75 s"), (150.0, "2.5 min"), (9000.0, "2.5 h"), (276_480.0, "3.2 d"), (86_400_000.0, "1,000 d"),
    ],
)  # fmt: skip
def test_durations_in_words(seconds: float | None, words: str) -> None:
    assert wording.duration(seconds) == words


def test_axes_end_at_round_values() -> None:
    assert [COUNTS.end(value) for value in (0, 3, 11, 250)] == [2, 4, 20, 400]
    assert [DURATIONS.end(value) for value in (0.0, 0.05, 45.0, 301.0)] == [0.002, 0.1, 60, 600]


def test_a_gap_breaks_a_line_and_a_lone_value_is_seen() -> None:
    buckets = [datetime(2026, 11, 15, hour, tzinfo=UTC) for hour in range(5)]
    chart = line_chart("times", buckets, [Line("wait", "line-1", [1.0, 2.0, None, 4.0, None])], DURATIONS)
    strokes = [line.get("points", "").split() for line in chart.iter("polyline")]
    assert strokes == [["100.0,150.0", "300.0,100.0"], ["698.0,0.0", "702.0,0.0"]]
