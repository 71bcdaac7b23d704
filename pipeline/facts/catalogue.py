"""Which facts a run computes, by which transform. Each transform is given the good rows (sorting.py)."""

from typing import Protocol

from pyspark.sql import DataFrame

from pipeline.facts.clusters import dead_letter_clusters
from pipeline.facts.queues import queue_facts
from pipeline.facts.scope import EVERYTHING, Scope
from pipeline.facts.services import service_facts
from pipeline.facts.workers import client_facts, node_facts
from pipeline.writing.tables import (
    CLIENT_FACTS,
    DEAD_LETTER_CLUSTERS,
    NODE_FACTS,
    QUEUE_FACTS,
    SERVICE_FACTS,
    Table,
)


class Transform(Protocol):
    def __call__(self, good_rows: DataFrame, scope: Scope = EVERYTHING) -> DataFrame: ...


FACTS: tuple[tuple[Table, Transform], ...] = (
    (QUEUE_FACTS, queue_facts),
    (CLIENT_FACTS, client_facts),
    (NODE_FACTS, node_facts),
    (SERVICE_FACTS, service_facts),
    (DEAD_LETTER_CLUSTERS, dead_letter_clusters),
)
