"""Erasures within a run: the journal before it is read, everything else after; at the end the proof."""

from pyspark.sql import SparkSession

from pipeline.database import Connection, without_bound
from pipeline.erasing.proof import count_everywhere
from pipeline.erasing.record import close, under_way
from pipeline.erasing.steps import redact_archive, redact_dead_letters, redact_journal
from pipeline.errors import PipelineError
from pipeline.options import Options


def before_archiving(connection: Connection) -> None:
    with without_bound(connection):
        for erasure in under_way(connection):
            redact_journal(connection, erasure)


def after_archiving(spark: SparkSession, connection: Connection, options: Options) -> None:
    for erasure in under_way(connection):
        redact_archive(spark, connection, options, erasure)
        with without_bound(connection):
            redact_dead_letters(connection, erasure)


def prove(spark: SparkSession, connection: Connection, options: Options) -> None:
    """When facts are computed and the past is forgotten: nothing may be left."""
    for erasure in under_way(connection):
        after = count_everywhere(spark, connection, options, erasure.selection, erasure.begun)
        if any(after.values()):
            left = ", ".join(f"{count} in {place}" for place, count in after.items() if count)
            raise PipelineError(
                f"The erasure of {erasure.selection.target} is not finished: {left}.",
                "Rows were still being written when it began: run again.",
            )
        close(connection, erasure, after)
