"""What the pipeline knows about its archive: how far it has read, where its tables are, which days are proved whole."""

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


class IcebergTable(models.Model):
    """Where the metadata of each Iceberg table is: the catalog by which readers find the archive and the facts.

    Name and shape are those of Iceberg's SQL catalog. The pipeline moves a pointer in the transaction that moves the
    offset, or merges the facts.
    """

    pk = models.CompositePrimaryKey("catalog_name", "table_namespace", "table_name")
    catalog_name = models.CharField(max_length=255, db_comment="Name of the catalog: willow.")
    table_namespace = models.CharField(max_length=255, db_comment="Namespace of the table: willow.")
    table_name = models.CharField(max_length=255, db_comment="Name of the table: journal, queue_facts, …")
    metadata_location = models.CharField(
        max_length=1000, null=True, db_comment="URL of the metadata that says which files count."
    )
    previous_metadata_location = models.CharField(
        max_length=1000, null=True, db_comment="URL of the metadata before the last commit."
    )
    iceberg_type = models.CharField(max_length=5, null=True, db_comment="TABLE.")

    class Meta:
        db_table = "iceberg_tables"
        db_table_comment = "The Iceberg tables of the data pipeline's archive."


class IcebergNamespaceProperty(models.Model):
    """A namespace of the catalog, as Iceberg's readers expect to find it."""

    pk = models.CompositePrimaryKey("catalog_name", "namespace", "property_key")
    catalog_name = models.CharField(max_length=255, db_comment="Name of the catalog: willow.")
    namespace = models.CharField(max_length=255, db_comment="Name of the namespace: willow.")
    property_key = models.CharField(max_length=255, db_comment="Name of the property: exists.")
    property_value = models.CharField(max_length=1000, db_comment="Value of the property: true.")

    class Meta:
        db_table = "iceberg_namespace_properties"
        db_table_comment = "The namespaces of the catalog of Iceberg tables."


class ArchiveLeftover(models.Model):
    """A folder or file of the archive that counts for nobody: being written, or retired. The next sweep deletes it."""

    path = models.TextField(primary_key=True, db_comment="Path below the archive.")
    added_at = models.DateTimeField(db_default=Now(), db_comment="When it was put on the list.")

    class Meta:
        db_table = "willow_archive_leftovers"
        db_table_comment = "What is in the data pipeline's archive and does not count."


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
    posted_only = models.BooleanField(
        db_default=False, db_comment="Whether the only news is that messages which were posted on the day have ended."
    )
    since_tx = models.BigIntegerField(
        null=True, db_comment="New rows are of transactions from this one on; empty: all rows may be new."
    )

    class Meta:
        db_table = "willow_pending_days"
        db_table_comment = "Days whose facts the data pipeline has yet to compute again."


class Erasure(models.Model):
    """What was erased on somebody's behalf, and the proof that nothing is left. Written before the first step."""

    id = models.BigAutoField(primary_key=True, db_comment="Number of the erasure.")
    selection = models.JSONField(db_comment="What it is about. The name of a client is removed at the end.")
    target = models.TextField(db_comment="What it is about, without a name; as in the audit.")
    actor = models.TextField(db_comment="Who ordered it: an account of the operating system.")
    state = models.CharField(max_length=5, db_comment="begun or done.")
    before = models.JSONField(db_comment="How many rows had something to erase, by where they are.")
    after = models.JSONField(null=True, db_comment="The same at the end: nothing.")
    begun_at = models.DateTimeField(db_default=Now(), db_comment="When it began. What ended later is not touched.")
    ended_at = models.DateTimeField(null=True, db_comment="When it was finished.")

    class Meta:
        db_table = "willow_erasures"
        db_table_comment = "What the data pipeline was told to erase, with counts before and after."
        constraints = [models.CheckConstraint(condition=Q(state__in=["begun", "done"]), name="erasure_state_known")]
