"""The health report's findings: from the facts of the last weeks into their table."""

from datetime import timedelta

from pyspark.sql import SparkSession

from pipeline.database import Connection, value
from pipeline.facts.health import health_findings
from pipeline.options import Options
from pipeline.reading.journal import conformed, read_queues, read_table
from pipeline.writing.merging import replace_all, stage_facts
from pipeline.writing.tables import CLIENT_FACTS, HEALTH_FINDINGS, QUEUE_FACTS, Table

HISTORY_DAYS = 28


def write_findings(spark: SparkSession, connection: Connection, options: Options) -> int:
    """Judge the queues and clients by their own history, replace the findings, and return how many there are."""
    now = value(connection, "SELECT now()")
    since = (now - timedelta(days=HISTORY_DAYS)).isoformat()
    findings = health_findings(
        read_table(spark, options, _recent(QUEUE_FACTS, since), QUEUE_FACTS.schema),
        read_table(spark, options, _recent(CLIENT_FACTS, since), CLIENT_FACTS.schema),
        read_queues(spark, options),
        now,
    )
    stage_facts(connection, options, HEALTH_FINDINGS, conformed(findings, HEALTH_FINDINGS.schema, "The health report"))
    replace_all(connection, HEALTH_FINDINGS)
    return int(value(connection, "SELECT count(*) FROM willow_health_findings"))


def _recent(table: Table, since: str) -> str:
    """The hours since then; jsonb as the text that Spark knows."""
    columns = ", ".join(table.columns)
    return f"(SELECT {columns} FROM {table.name} WHERE grain = 'hour' AND bucket >= '{since}') AS recent"
