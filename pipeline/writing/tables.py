"""The tables that the pipeline writes, and what in each says which row is which."""

from dataclasses import dataclass
from typing import LiteralString

from pyspark.sql.types import StructType

from pipeline import schemas

JSON_COLUMNS = frozenset({"dead_by_reason"})

STAGING = "willow_staging_"  # how the names of staging tables begin


@dataclass(frozen=True)
class Table:
    name: str
    schema: StructType
    key: tuple[str, ...]  # the columns of its unique constraint
    day: LiteralString  # SQL for the day that a row belongs to
    staged_as: str = ""  # at the end of its staging table's name, where two write at the same time

    @property
    def staging(self) -> str:
        return self.name.replace("willow_", STAGING, 1) + self.staged_as

    @property
    def in_lake(self) -> str:
        return self.name.removeprefix("willow_")

    @property
    def time(self) -> str:
        """The column that says to which day a row belongs."""
        return "day" if "day" in self.columns else "bucket"

    @property
    def columns(self) -> list[str]:
        return list(self.schema.fieldNames())


BUCKET_DAY = "(bucket AT TIME ZONE 'UTC')::date"

QUEUE_FACTS = Table("willow_queue_facts", schemas.QUEUE_FACTS, ("grain", "queue_id", "bucket"), BUCKET_DAY)
CLIENT_FACTS = Table("willow_client_facts", schemas.CLIENT_FACTS, ("grain", "client", "bucket"), BUCKET_DAY)
NODE_FACTS = Table("willow_node_facts", schemas.NODE_FACTS, ("grain", "node", "bucket"), BUCKET_DAY)
SERVICE_FACTS = Table("willow_service_facts", schemas.SERVICE_FACTS, ("grain", "service", "bucket"), BUCKET_DAY)
DEAD_LETTER_CLUSTERS = Table(
    "willow_dead_letter_clusters",
    schemas.DEAD_LETTER_CLUSTERS,
    ("day", "queue_id", "reason", "signature"),
    "day",
)
HEALTH_FINDINGS = Table("willow_health_findings", schemas.HEALTH_FINDINGS, (), "(at AT TIME ZONE 'UTC')::date")
