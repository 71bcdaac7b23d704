"""Facts of the newest minutes, straight from the journal.

To build the plans of Spark takes longer than to run them, and code that is generated for a new plan is slow at first.
So the plans are built once. Which rows they read is not part of them: it is in a small table, which each step fills.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from psycopg import sql
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pipeline.beside import Beside
from pipeline.database import Connection, horizon, jdbc_options, next_transaction, value
from pipeline.facts.catalogue import FACTS
from pipeline.facts.queue_names import SERVICE_PREFIX
from pipeline.facts.scope import Scope
from pipeline.facts.sorting import good_rows
from pipeline.options import Options
from pipeline.reading.journal import FETCH_ROWS, conformed
from pipeline.schemas import JOURNAL
from pipeline.session import in_one_task
from pipeline.writing.merging import drop_staging, make_staging, merge_minutes, refill_staging
from pipeline.writing.tables import SERVICE_FACTS, STAGING, Table

MINUTE = timedelta(minutes=1)
NEWEST = 5 * MINUTE  # rows of older minutes, which are late, wait until hours and days are computed
LONGEST_WAIT = MINUTE  # of a transaction, from its beginning until it writes and so gets its number

MINUTES = Scope(grains=("minute",))
TIMED = [(replace(table, staged_as="_now"), transform) for table, transform in FACTS if "grain" in table.columns]

UNUSED = {"id", "tx", "index", "attempt", "priority", "poster", "holder", "error", "body", "extras"}
NEEDED = StructType([field for field in JOURNAL if field.name not in UNUSED])
BOUNDS = f"{STAGING}bounds"
RECENT = f"""
    (SELECT {", ".join(NEEDED.fieldNames())} FROM willow_journal_v2
     WHERE tx >= (SELECT first FROM {BOUNDS}) AND tx < (SELECT past FROM {BOUNDS})
       AND ended_at >= (SELECT since FROM {BOUNDS})) AS recent
"""

# The minutes in which new rows ended or were posted, and whether there are rows of services among those.
NEWS = """
    SELECT date_trunc('minute', happened), bool_or(is_end), bool_or(starts_with(queue_name, %(service)s))
    FROM willow_journal_v2, LATERAL (VALUES (ended_at, true), (posted_at, false)) AS times (happened, is_end)
    WHERE tx >= %(first)s::text::xid8 AND tx < %(past)s::text::xid8
    GROUP BY 1
"""

LAST_BEFORE = """
    SELECT tx::text::bigint FROM willow_journal_v2
    WHERE tx < %s::text::xid8 AND ended_at < %s
    ORDER BY tx DESC LIMIT 1
"""


@dataclass(frozen=True)
class Mark:
    """Transactions that began at this time, or later, have this number or a higher one."""

    time: datetime
    tx: int


@dataclass(frozen=True)
class News:
    """What came to the journal since the last step."""

    past: int  # the transactions are those before this one
    since: datetime | None  # the first of the newest minutes that changed
    of_services: bool


class MinuteFacts:
    """The plans, and the tables that they read their bounds from and write to; as a context, to drop these."""

    def __init__(self, spark: SparkSession, connection: Connection, options: Options, *, past: int) -> None:
        """All rows of transactions before `past` are in the facts already. The first step takes those of the newest
        minutes again: after it, Spark is warm."""
        self._connection = connection
        self._options = options
        self._marks = [_first_mark(connection, past)]
        self._past = self._marks[0].tx
        _make_bounds(connection)
        self._recent = _recent_rows(in_one_task(spark), options)
        self._plans = []
        for table, transform in TIMED:
            make_staging(connection, table)
            facts = transform(good_rows(self._recent), MINUTES)
            self._plans.append((table, conformed(facts, table.schema, f"The facts for {table.name}")))

    def __enter__(self) -> "MinuteFacts":
        return self

    def __exit__(self, *_: object) -> None:
        for table, _plan in self._plans:
            drop_staging(self._connection, table)
        self._connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(BOUNDS)))

    def step(self, beside: Beside) -> int:
        """Compute the newest minutes that got rows, and replace their facts; return how many these are."""
        runs = beside.runs
        news = self._news()
        written = 0
        if news.since is not None:
            tables = self._stage(news, news.since)
            with beside.merging:
                if beside.runs != runs:
                    return 0  # a run may know more by now: the next step looks again
                with self._connection.transaction():
                    written = sum(merge_minutes(self._connection, table, news.since) for table in tables)
                beside.computed(news.since)
        self._past = news.past
        return written

    def _news(self) -> News:
        past = horizon(self._connection)
        tx = next_transaction(self._connection)  # before the time: whatever begins after that has a higher number
        self._marks.append(Mark(value(self._connection, "SELECT now()"), tx))
        parameters = {"first": self._past, "past": past, "service": SERVICE_PREFIX}
        found = self._connection.execute(NEWS, parameters).fetchall()
        since = first_to_compute(
            {minute for minute, is_end, _ in found if is_end}, {minute for minute, _, _ in found}, self._marks[0].time
        )
        return News(past, since, any(of_services for _, _, of_services in found))

    def _stage(self, news: News, since: datetime) -> list[Table]:
        """Compute the facts of the minutes, and of parts of others, into staging tables; return those of use."""
        known = [number for number, mark in enumerate(self._marks) if mark.time <= since]
        self._marks = self._marks[known[-1] :]
        self._connection.execute(
            sql.SQL("UPDATE {} SET first = %s::text::xid8, past = %s::text::xid8, since = %s").format(
                sql.Identifier(BOUNDS)
            ),
            [self._marks[0].tx, news.past, since],
        )
        plans = [plan for plan in self._plans if plan[0].name != SERVICE_FACTS.name or news.of_services]
        self._recent.persist()
        try:
            for table, facts in plans:
                refill_staging(self._options, table, facts)
        finally:
            self._recent.unpersist()
        return [table for table, _ in plans]


def first_to_compute(ended: set[datetime], happened: set[datetime], earliest: datetime) -> datetime | None:
    """The first of the newest minutes in which rows ended, or of the one before if some of them were posted in it."""
    newest = [minute for minute in ended if minute > max(ended) - NEWEST]
    if not newest or max(ended) < earliest:
        return None
    return max(earliest, min(minute for minute in happened if minute >= min(newest) - MINUTE))


def _first_mark(connection: Connection, past: int) -> Mark:
    """For minutes in which nobody followed yet, by what their transactions wrote."""
    earliest = value(connection, "SELECT date_trunc('minute', now())") - NEWEST
    return Mark(earliest, value(connection, LAST_BEFORE, past, earliest - LONGEST_WAIT) or 0)


def _make_bounds(connection: Connection) -> None:
    """Of what the plans read: one row. Not only the owner may read it, for another role may read the journal."""
    table = sql.Identifier(BOUNDS)
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
    connection.execute(
        sql.SQL("CREATE UNLOGGED TABLE {} AS SELECT '0'::xid8 AS first, '0'::xid8 AS past, now() AS since").format(
            table
        )
    )
    connection.execute(sql.SQL("GRANT SELECT ON {} TO PUBLIC").format(table))


def _recent_rows(spark: SparkSession, options: Options) -> DataFrame:
    """By a cursor, for there may be many."""
    properties = jdbc_options(options.read_url) | {"fetchsize": str(FETCH_ROWS)}
    return conformed(
        spark.read.format("jdbc").options(**properties, dbtable=RECENT).load(), NEEDED, "willow_journal_v2"
    )
