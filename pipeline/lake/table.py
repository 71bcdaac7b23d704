"""A table of the archive: which files it has, and the commit that changes them."""

import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
from pyiceberg.conversions import from_bytes
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io.pyarrow import parquet_files_to_data_files
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table, TableProperties
from pyiceberg.transforms import DayTransform, IdentityTransform, Transform
from pyiceberg.types import DateType, LongType, TimestamptzType
from pyspark.sql.types import StructType

from pipeline.database import Connection
from pipeline.errors import PipelineError
from pipeline.lake.catalog import PointerMove, PreparingCatalog
from pipeline.lake.replacing import Replacing
from pipeline.lake.schema import iceberg_schema, iceberg_type

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FROM_BACKUP = "Bring the archive back from its backup."
PARTITION_ID = 1000  # Iceberg numbers partition fields from here


@dataclass(frozen=True)
class TableFile:
    """A file that counts."""

    url: str
    day: date
    rows: int
    bytes: int
    entry: DataFile


class LakeTable:
    """The newest snapshot of a table. After a commit, `open_table` gives the next one."""

    def __init__(self, table: Table, catalog: PreparingCatalog, connection: Connection) -> None:
        self.table = table
        self._catalog = catalog
        self._connection = connection

    @property
    def location(self) -> str:
        return str(self.table.metadata.location)

    def files(self) -> list[TableFile]:
        with readable(self.location):
            snapshot = self.table.current_snapshot()
            manifests = snapshot.manifests(self.table.io) if snapshot else []
            entries = (entry for manifest in manifests for entry in manifest.fetch_manifest_entry(self.table.io))
            return sorted((_table_file(entry.data_file) for entry in entries), key=lambda file: file.url)

    def files_of(self, days: Iterable[date]) -> list[TableFile]:
        wanted = set(days)
        return [file for file in self.files() if file.day in wanted]

    def span(self, file: TableFile, column: str) -> tuple[datetime, datetime]:
        """The least and the greatest time in a column of a file."""
        field = self.table.schema().find_field(column).field_id
        bounds = (file.entry.lower_bounds[field], file.entry.upper_bounds[field])
        least, greatest = (
            EPOCH + timedelta(microseconds=int(from_bytes(TimestamptzType(), bound))) for bound in bounds
        )
        return least, greatest

    def greatest(self, file: TableFile, column: str) -> int:
        """The greatest number in a column of a file."""
        field = self.table.schema().find_field(column).field_id
        return int(from_bytes(LongType(), file.entry.upper_bounds[field]))

    def note(self, name: str) -> str | None:
        """What the last commit that said something about it said."""
        return self.table.properties.get(name)

    def prepare(
        self, *, add: Sequence[str] = (), remove: Sequence[TableFile] = (), notes: dict[str, str] | None = None
    ) -> PointerMove | None:
        """Write a snapshot with other files; return what makes it count, or nothing if it would be the same."""
        if not add and not remove:
            return None
        with self.table.transaction() as transaction:
            if notes:
                transaction.set_properties(notes)
            producer = Replacing(transaction) if remove else transaction.update_snapshot().merge_append()
            with producer as change:
                for file in remove:
                    change.delete_data_file(file.entry)
                for entry in parquet_files_to_data_files(self.table.io, self.table.metadata, iter(add)):
                    change.append_data_file(entry)
        return self._catalog.prepared

    def prepare_forgetting(self, snapshots: list[int]) -> PointerMove:
        """Metadata without these snapshots."""
        self.table.maintenance.expire_snapshots().by_ids(snapshots).commit()
        assert self._catalog.prepared is not None
        return self._catalog.prepared

    def commit(self, move: PointerMove | None) -> None:
        """For a change that nothing else must change with."""
        if move:
            with self._connection.transaction():
                move.make(self._connection)


def open_table(connection: Connection, archive: str, name: str, schema: StructType, time: str) -> LakeTable:
    """The table as it is now, made if there is none, with columns for all fields of the schema.

    `time` is the column by whose day (UTC) its files are kept apart.
    """
    catalog = PreparingCatalog(connection)
    try:
        with readable(f"{archive}/{place_of(name)}"):
            table = catalog.load_table(name)
    except NoSuchTableError:
        fields = iceberg_schema(schema)
        settings = {
            TableProperties.DEFAULT_NAME_MAPPING: fields.name_mapping.model_dump_json(),
            TableProperties.MANIFEST_MERGE_ENABLED: "true",
            TableProperties.MANIFEST_MIN_MERGE_COUNT: "20",
        }
        catalog.make_table(name, fields, _by_day(fields, time), f"{archive}/{place_of(name)}", settings)
        table = catalog.load_table(name)
    lake = LakeTable(table, catalog, connection)
    _add_columns(lake, schema)
    return lake


@contextmanager
def readable(location: str) -> Iterator[None]:
    """For reading a table's metadata. If they are damaged, pyiceberg fails in whatever way the bytes make it fail."""
    try:
        yield
    except (NoSuchTableError, psycopg.Error):
        raise
    except FileNotFoundError as error:
        what = f"The archive lacks the list of its files, {error.filename or error}."
        raise PipelineError(what, FROM_BACKUP) from None
    except Exception as error:
        what = f"The archive's list of its files, in {location}/metadata, cannot be read: {type(error).__name__}."
        raise PipelineError(what, FROM_BACKUP, details=traceback.format_exc()) from None


def place_of(name: str) -> str:
    return name if name == "journal" else f"facts/{name}"


def _by_day(schema: Any, time: str) -> PartitionSpec:
    field = schema.find_field(time)
    transform: Transform[Any, Any] = IdentityTransform() if isinstance(field.field_type, DateType) else DayTransform()
    return PartitionSpec(PartitionField(field.field_id, PARTITION_ID, transform, "day"))


def _add_columns(lake: LakeTable, schema: StructType) -> None:
    """Columns that Willow learnt since the table was made; older files have nulls there."""
    known = set(lake.table.schema().column_names)
    new = [field for field in schema if field.name not in known]
    if not new:
        return
    with lake.table.update_schema() as update:
        for field in new:
            update.add_column(field.name, iceberg_type(field.dataType.simpleString(), 0))
    lake.commit(lake._catalog.prepared)


def _table_file(entry: DataFile) -> TableFile:
    value = entry.partition[0]
    day = value if isinstance(value, date) else (EPOCH + timedelta(days=value)).date()
    return TableFile(entry.file_path, day, entry.record_count, entry.file_size_in_bytes, entry)
