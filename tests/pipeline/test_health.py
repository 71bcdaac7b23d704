"""The health report: what leaves its own history is found, what does not is left alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from pipeline.facts.health import health_findings
from pipeline.schemas import CLIENT_FACTS, HEALTH_FINDINGS, QUEUE_FACTS, QUEUES
from tests.pipeline.journal_rows import table

NOW = datetime(2026, 11, 16, 12, 30, tzinfo=UTC)
LAST_HOUR = datetime(2026, 11, 16, 11, 0, tzinfo=UTC)
DURATIONS = ("p50", "p90", "p95", "p99", "max")


def queue_hour(hour: datetime, **said: Any) -> dict[str, Any]:
    """An hour in which 100 messages were finished, each after 1 s of waiting and 2 s of work."""
    ordinary = {
        "grain": "hour", "bucket": hour, "queue_id": 1, "queue_name": "orders", "queue_tags": ["eu"],
        "posted": 100, "finished": 100, "popped": 0, "failed": 3, "retried": 3, "dead": 0, "dropped": 0,
        "dead_by_reason": "{}", "bytes": 1000,
        **{f"wait_{name}": 1.0 for name in DURATIONS}, **{f"work_{name}": 2.0 for name in DURATIONS},
        "oldest_age": 3.0,
    }  # fmt: skip
    return {**ordinary, **said}


def client_hour(hour: datetime, **said: Any) -> dict[str, Any]:
    work = {f"work_{name}": 2.0 for name in DURATIONS}
    return {"grain": "hour", "bucket": hour, "client": "packer", "finished": 50, "failed": 0, **work, **said}


def hours_before(last: datetime, days: int = 10) -> list[datetime]:
    """All hours of so many days, up to and without the last one."""
    return [last - timedelta(hours=number) for number in range(1, 24 * days)]


def queue(**said: Any) -> dict[str, Any]:
    ordinary = {
        "queue_id": 1, "queue_name": "orders", "queue_tags": ["eu"], "kind": "work", "paused": False,
        "live": 5, "readers": 2, "newest_index": 1000, "defined_at": NOW - timedelta(days=30),
    }  # fmt: skip
    return {**ordinary, **said}


def findings(
    spark: SparkSession,
    queue_hours: list[dict[str, Any]],
    client_hours: list[dict[str, Any]] | None = None,
    queues: list[dict[str, Any]] | None = None,
) -> list[Any]:
    found = health_findings(
        table(spark, QUEUE_FACTS, *queue_hours),
        table(spark, CLIENT_FACTS, *(client_hours or [])),
        table(spark, QUEUES, *(queues or [])),
        NOW,
    )
    assert found.schema.fieldNames() == HEALTH_FINDINGS.fieldNames()
    return found.orderBy("kind").collect()


ODD_HOURS = [
    ({"finished": 0}, "throughput", "critical", "Messages completed in {}: 0 {}, where 100 are usual."),
    ({"finished": 190}, "throughput", "note", "Messages completed in {}: 190 {}, where 100 are usual."),
    ({"failed": 5000}, "failures", "critical", "Attempts that failed in {}: 5,000 {}, where 3 are usual."),
    ({"dead": 13}, "deaths", "warning", "Messages that died in {}: 13 {}, where 0 are usual."),
    ({"dropped": 9}, "drops", "note", "Messages dropped from {}: 9 {}, where 0 are usual."),
    (
        {"wait_p95": 150.0},
        "waiting_time",
        "critical",
        "Of 20 messages of {} one waited 2.5 min {}, where 1.0 s is usual.",
    ),
    ({"work_p95": 4.0}, "working_time", "note", "Of 20 messages of {} one took 4.0 s {}, where 2.0 s is usual."),
]


def test_queues_that_leave_their_history_are_found(spark: SparkSession) -> None:
    """Each in its own way, and one that does not."""
    last_hours = [*(odd[0] for odd in ODD_HOURS), {"finished": 115, "failed": 9, "wait_p95": 1.3}]
    hours = []
    for number, last_hour in enumerate(last_hours):
        who = {"queue_id": number, "queue_name": f"queue {number}"}
        hours += [queue_hour(hour, **who) for hour in hours_before(LAST_HOUR, days=6)]
        hours.append(queue_hour(LAST_HOUR, **who, **last_hour))
    found = sorted(findings(spark, hours), key=lambda finding: finding.queue_id)
    assert [(each.kind, each.severity, each.sentence) for each in found] == [
        (kind, severity, sentence.format(f"queue {number} [eu]", "in the hour from 2026-11-16 11:00 UTC"))
        for number, (_, kind, severity, sentence) in enumerate(ODD_HOURS)
    ]
    assert {each.at.replace(tzinfo=UTC) for each in found} == {LAST_HOUR}
    assert {each.client for each in found} == {None}


def test_an_hour_without_a_row_is_an_hour_without_messages(spark: SparkSession) -> None:
    (found,) = findings(spark, [queue_hour(hour) for hour in hours_before(LAST_HOUR)])
    assert (found.kind, found.severity, found.value, found.usual) == ("throughput", "critical", 0.0, 100.0)


def test_a_queue_like_every_day_is_left_alone(spark: SparkSession) -> None:
    """Busy by day, idle by night, never quite the same, and with a wild day in its history."""
    hours = []
    for hour in [*hours_before(LAST_HOUR, days=21), LAST_HOUR]:
        busy = 8 <= hour.hour < 18
        finished = (1000 if busy else 0) + hour.day % 5
        wild = {"failed": 900, "wait_p95": 3000.0} if hour.day == 3 else {}
        hours.append(queue_hour(hour, **{"finished": finished, "wait_p95": 1.0 + hour.day % 3 / 10, **wild}))
    assert findings(spark, hours) == []


def test_too_little_history_says_nothing(spark: SparkSession) -> None:
    history = [queue_hour(hour) for hour in hours_before(LAST_HOUR, days=3)]
    assert findings(spark, [*history, queue_hour(LAST_HOUR, failed=5000)]) == []


def test_the_hour_under_way_is_not_judged(spark: SparkSession) -> None:
    history = [queue_hour(hour) for hour in [*hours_before(LAST_HOUR), LAST_HOUR]]
    assert findings(spark, [*history, queue_hour(LAST_HOUR + timedelta(hours=1), finished=0, failed=5000)]) == []


def test_of_several_odd_hours_the_oddest_is_told(spark: SparkSession) -> None:
    history = [queue_hour(hour) for hour in hours_before(LAST_HOUR - timedelta(hours=2))]
    odd = [
        queue_hour(LAST_HOUR - timedelta(hours=hours), failed=failed) for hours, failed in ((2, 50), (1, 500), (0, 60))
    ]
    (found,) = findings(spark, [*history, *odd])
    assert (found.kind, found.value) == ("failures", 500.0)


def test_a_client_that_slowed_down_is_found(spark: SparkSession) -> None:
    history = [client_hour(hour, **who) for hour in hours_before(LAST_HOUR) for who in ({}, {"client": "steady"})]
    slow = {"work_p50": 9.0}
    lately = [
        client_hour(LAST_HOUR, **slow),
        client_hour(LAST_HOUR, client="steady"),
        client_hour(LAST_HOUR, client="new", **slow),
    ]
    (found,) = findings(spark, [], [*history, *lately])
    assert (found.kind, found.client, found.severity, found.queue_id) == ("slow_consumer", "packer", "critical", None)
    assert found.sentence == (
        "The client packer took at the median 9.0 s in the hour from 2026-11-16 11:00 UTC, where 2.0 s is usual."
    )


def test_clients_with_few_messages_or_without_a_name_are_not_judged(spark: SparkSession) -> None:
    history = [client_hour(hour, client=client) for hour in hours_before(LAST_HOUR) for client in ("packer", "")]
    lately = [client_hour(LAST_HOUR, finished=19, work_p50=9.0), client_hour(LAST_HOUR, client="", work_p50=9.0)]
    assert findings(spark, [], [*history, *lately]) == []


def test_queues_nobody_consumes_are_found(spark: SparkSession) -> None:
    idle = {"readers": 0, "live": 1200}
    queues = [
        queue(**idle, queue_id=1),
        queue(**idle, queue_id=2, queue_name="taken lately"),
        queue(queue_id=3, queue_name="read", live=1200),
        queue(**idle, queue_id=4, queue_name="orders.dead"),
        queue(**idle, queue_id=5, queue_name="a stream", kind="stream"),
        queue(queue_id=6, queue_name="empty", readers=0, live=0),
        queue(**idle, queue_id=7, queue_name="just made", defined_at=NOW - timedelta(minutes=5)),
        queue(**idle, queue_id=8, queue_name="halted", queue_tags=[], paused=True),
    ]
    long_ago = queue_hour(LAST_HOUR - timedelta(hours=30))
    lately = queue_hour(LAST_HOUR - timedelta(hours=3), queue_id=2, queue_name="taken lately")
    paused, unconsumed = findings(spark, [long_ago, lately], queues=queues)
    assert (unconsumed.kind, unconsumed.severity, unconsumed.queue_id) == ("unconsumed", "warning", 1)
    assert unconsumed.sentence == (
        "Nobody consumes orders [eu]: 1,200 message(s) are in it, nobody reads it, and none was taken in the last"
        " 24 hours."
    )
    assert (paused.severity, paused.sentence) == ("note", "halted is paused, and 1,200 message(s) are in it.")


def test_without_facts_and_queues_there_are_no_findings(spark: SparkSession) -> None:
    assert findings(spark, []) == []
