"""Whose traces an erasure is about, in the words of SQL and of Spark."""

import hashlib
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any, LiteralString

from pyspark.sql import Column
from pyspark.sql import functions as F

PERSONAL = ("client", "error", "body", "extras")  # the columns of the journal that an erasure empties


@dataclass(frozen=True, kw_only=True)
class Selection:
    """One message, one client, or all that ended before a day; never what came after the erasure began."""

    queue: str | None = None
    tags: tuple[str, ...] | None = None
    index: int | None = None
    client: str | None = None
    before: date | None = None

    @property
    def target(self) -> str:
        """For the audit: it must not name whom the erasure is to forget."""
        if self.client is not None:
            return f"client with the SHA-256 {hashlib.sha256(self.client.encode()).hexdigest()}"
        return f"message {self.queue}/{self.index}" if self.queue is not None else f"messages before {self.before}"

    def as_json(self) -> dict[str, Any]:
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return said | ({"before": self.before.isoformat()} if self.before else {})

    def in_journal(self) -> tuple[LiteralString, dict[str, Any]]:
        """A condition on the journal's rows, and its parameters."""
        if self.client is not None:
            return "client = %(client)s", {"client": self.client}
        if self.before is not None:
            return "ended_at < %(before)s::date::timestamp AT TIME ZONE 'UTC'", {"before": self.before}
        tags = None if self.tags is None else list(self.tags)
        return (
            "queue_name = %(queue)s AND index = %(index)s"
            " AND (%(tags)s::text[] IS NULL OR queue_tags = %(tags)s::text[])",
            {"queue": self.queue, "tags": tags, "index": self.index},
        )

    def among_dead_letters(self) -> tuple[LiteralString, dict[str, Any]]:
        """The same for the message table's rows `m`."""
        if self.client is not None:
            return "m.last_client = %(client)s", {"client": self.client}
        if self.before is not None:
            return "m.died_at < %(before)s::date::timestamp AT TIME ZONE 'UTC'", {"before": self.before}
        tags = None if self.tags is None else list(self.tags)
        return (
            "m.origin_index = %(index)s AND m.origin_queue_id IN (SELECT id FROM queues_queue WHERE name = %(queue)s"
            " AND (%(tags)s::text[] IS NULL OR tags = %(tags)s::text[]))",
            {"queue": self.queue, "tags": tags, "index": self.index},
        )

    def among_redriven(self) -> tuple[LiteralString, dict[str, Any]]:
        """The same for what is remembered of redriven messages, `r`, until their redrive can be undone no more."""
        if self.client is not None:
            return "r.client = %(client)s", {"client": self.client}
        if self.before is not None:
            redriven: LiteralString = "SELECT id FROM delivery_redrivejob WHERE created_at < %(before)s::date"
            return f"r.job_id IN ({redriven}::timestamp AT TIME ZONE 'UTC')", {"before": self.before}
        tags = None if self.tags is None else list(self.tags)
        return (
            "r.origin_index = %(index)s AND r.origin_queue_id IN (SELECT id FROM queues_queue WHERE name = %(queue)s"
            " AND (%(tags)s::text[] IS NULL OR tags = %(tags)s::text[]))",
            {"queue": self.queue, "tags": tags, "index": self.index},
        )

    def in_archive(self, begun: datetime) -> Column:
        early = F.col("ended_at") < F.lit(begun)
        if self.client is not None:
            return early & F.coalesce(F.col("client") == self.client, F.lit(False))
        if self.before is not None:
            return early & (F.to_date("ended_at") < F.lit(self.before))
        chosen = early & (F.col("queue_name") == self.queue) & (F.col("index") == self.index)
        if self.tags is None:
            return chosen
        return chosen & (F.array_join("queue_tags", ",") == ",".join(self.tags))


def selection_from(said: dict[str, Any]) -> Selection:
    known = dict(said)
    if "tags" in known:
        known["tags"] = tuple(known["tags"])
    if "before" in known:
        known["before"] = date.fromisoformat(known["before"])
    return Selection(**known)


def is_personal() -> Column:
    """Whether a row of the archive has anything to erase."""
    return F.coalesce(*(F.when(F.col(name).isNotNull(), F.lit(True)) for name in PERSONAL), F.lit(False))
