"""The shape of the journal's rows and of every table of facts: what readers, transforms and writers agree on.

A column may be added at the end, as nullable: older files of the archive then read as null. Nothing else may change
without a new `JOURNAL_VERSION` and a way to read the old one. The tables are `delivery/facts/models.py`.
"""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

JOURNAL_VERSION = 1

OUTCOMES = ("finished", "popped", "retried", "dead", "dropped")
ENDS_OF_LIFE = ("finished", "popped", "dead", "dropped")
GRAINS = ("minute", "hour", "day")
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

TEXT, TEXTS, LONG, DOUBLE, TIME = StringType(), ArrayType(StringType()), LongType(), DoubleType(), TimestampType()


def _schema(*fields: tuple[str, DataType] | tuple[str, DataType, bool]) -> StructType:
    """Fields are (name, type) and may not be null, or (name, type, True) and may."""
    return StructType([StructField(field[0], field[1], len(field) == 3) for field in fields])


def _durations(prefix: str) -> tuple[tuple[str, DataType, bool], ...]:
    return tuple((f"{prefix}_{name}", DOUBLE, True) for name in (*PERCENTILES, "max"))


_BUCKET: tuple[tuple[str, DataType], ...] = (("grain", TEXT), ("bucket", TIME))
_QUEUE: tuple[tuple[str, DataType], ...] = (("queue_id", LONG), ("queue_name", TEXT), ("queue_tags", TEXTS))
_WORK: tuple[tuple[str, DataType] | tuple[str, DataType, bool], ...] = (
    ("finished", LONG),
    ("failed", LONG),
    *_durations("work"),
)

# As `willow_journal_v2` has them; `tx` as a number. The archive adds nothing but the folder `day=…`.
JOURNAL = _schema(
    ("id", LONG),
    ("tx", LONG),
    *_QUEUE,
    ("index", LONG),
    ("outcome", TEXT),
    ("reason", TEXT, True),
    ("attempt", IntegerType()),
    ("priority", LONG),
    ("poster", LONG, True),
    ("holder", LONG, True),
    ("client", TEXT, True),
    ("node", TEXT, True),
    ("posted_at", TIME),
    ("assigned_at", TIME, True),
    ("ended_at", TIME),
    ("size", IntegerType()),
    ("error", TEXT, True),
    ("body", BinaryType(), True),
    ("extras", TEXT, True),  # a JSON object: headers, group, key, unique; of queues that keep bodies
)

# As `willow_queues_v1` has them, for the health report.
QUEUES = _schema(
    *_QUEUE,
    ("kind", TEXT),
    ("paused", BooleanType()),
    ("live", LONG),
    ("readers", LONG),
    ("newest_index", LONG),
    ("defined_at", TIME),
)

QUEUE_FACTS = _schema(
    *_BUCKET,
    *_QUEUE,
    ("posted", LONG),
    ("finished", LONG),
    ("popped", LONG),
    ("failed", LONG),
    ("retried", LONG),
    ("dead", LONG),
    ("dropped", LONG),
    ("dead_by_reason", TEXT),  # a JSON object, keys sorted; jsonb in PostgreSQL
    ("bytes", LONG),
    *_durations("wait"),
    *_durations("work"),
    ("oldest_age", DOUBLE, True),
)
CLIENT_FACTS = _schema(*_BUCKET, ("client", TEXT), *_WORK)
NODE_FACTS = _schema(*_BUCKET, ("node", TEXT), *_WORK)
SERVICE_FACTS = _schema(
    *_BUCKET,
    ("service", TEXT),
    ("requests", LONG),
    ("answered", LONG),
    ("failed", LONG),
    *_durations("latency"),
)
DEAD_LETTER_CLUSTERS = _schema(
    ("day", DateType()),
    *_QUEUE,
    ("reason", TEXT),
    ("signature", TEXT),
    ("count", LONG),
    ("first_seen", TIME),
    ("last_seen", TIME),
    ("example", TEXT, True),
)
HEALTH_FINDINGS = _schema(
    ("kind", TEXT),
    ("queue_id", LONG, True),
    ("queue_name", TEXT, True),
    ("queue_tags", TEXTS, True),
    ("client", TEXT, True),
    ("severity", TEXT),
    ("sentence", TEXT),
    ("value", DOUBLE, True),
    ("usual", DOUBLE, True),
    ("score", DOUBLE, True),
    ("at", TIME),
)
