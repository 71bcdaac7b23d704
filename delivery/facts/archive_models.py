"""What the pipeline knows about its archive: how far it has read, which files count, which days are proved whole."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class PipelineOffset(models.Model):
    """How far the journal has been archived. One row; it moves in the transaction that makes the files count."""

    id = models.SmallIntegerField(primary_key=True, db_default=1, db_comment="Always 1: there is one pipeline.")
    next_tx = models.BigIntegerField(db_comment="Rows of transactions before this one are in the archive.")
    database = models.TextField(db_comment="Which database the number belongs to: cluster, database and timeline.")
    archive = models.TextField(db_comment="Where the archive is.")
    moved_at = models.DateTimeField(db_default=Now(), db_comment="When the offset last moved.")

    class Meta:
        db_table = "willow_pipeline_offset"
        db_table_comment = "How far the data pipeline has archived the journal."
        constraints = [models.CheckConstraint(condition=Q(id=1), name="pipeline_offset_is_one_row")]


class ArchivePart(models.Model):
    """A Parquet file of the archive. A file that has no row here does not count."""

    class State(models.TextChoices):
        COMMITTED = "committed", "counts, and is still to be moved to its place"
        PLACED = "placed", "counts, and is in its place"
        RETIRED = "retired", "counts no more, and is still to be deleted"

    path = models.TextField(unique=True, db_comment="Path of the file below the archive.")
    staged = models.TextField(db_comment="Where the file was written before it was moved, below the archive.")
    day = models.DateField(db_comment="Day (UTC) on which the messages of all its rows ended.")
    state = models.CharField(max_length=9, choices=State, db_comment="committed, placed or retired.")
    rows = models.BigIntegerField(db_comment="Rows in the file.")
    checksum = models.DecimalField(max_digits=40, decimal_places=0, db_comment="Sum of the checksums of its rows.")
    bytes = models.BigIntegerField(db_comment="Size of the file.")
    posted_from = models.DateTimeField(db_comment="When the first of its messages was posted.")
    posted_to = models.DateTimeField(db_comment="When the last of its messages was posted.")
    tx_from = models.BigIntegerField(db_comment="First transaction of the slice that it came from.")
    tx_to = models.BigIntegerField(db_comment="Transaction before which that slice ended.")
    schema_version = models.IntegerField(db_comment="Version of the journal's schema in which it was written.")
    added_at = models.DateTimeField(db_default=Now(), db_comment="When it began to count.")

    class Meta:
        db_table = "willow_archive_parts"
        db_table_comment = "The files of the data pipeline's archive."
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["committed", "placed", "retired"]), name="archive_part_state_known"
            ),
        ]
        indexes = [models.Index(fields=["day"], name="archive_part_of_day")]


class ArchiveDay(models.Model):
    """A day of the journal that was compared with the archive. Only such days may be dropped, if so configured."""

    day = models.DateField(primary_key=True, db_comment="The day (UTC).")
    rows = models.BigIntegerField(db_comment="Rows of the day, equal in journal and archive.")
    checksum = models.DecimalField(max_digits=40, decimal_places=0, db_comment="Sum of the checksums of those rows.")
    verified_tx = models.BigIntegerField(db_comment="The comparison covered all transactions before this one.")
    verified_at = models.DateTimeField(db_default=Now(), db_comment="When the two were compared.")

    class Meta:
        db_table = "willow_archive_days"
        db_table_comment = "Days of the journal that were compared with the archive and found equal."


class PendingDay(models.Model):
    """A day whose facts must be computed again, because rows were archived since. Cleared with the facts."""

    day = models.DateField(primary_key=True, db_comment="The day (UTC).")

    class Meta:
        db_table = "willow_pending_days"
        db_table_comment = "Days whose facts the data pipeline has yet to compute again."
