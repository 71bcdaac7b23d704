"""Iceberg's SQL catalog in Willow's PostgreSQL, with one difference: a commit is prepared here and made by the caller.

Iceberg's own implementation would move the pointer in a transaction of its own. Here it moves in the transaction that
moves the offset, or merges the facts. Readers see an ordinary SQL catalog.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.io import load_file_io
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromInputFile, ToOutputFile
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata

from pipeline.database import Connection

CATALOG = "willow"
NAMESPACE = "willow"

FIND = """
    SELECT metadata_location FROM iceberg_tables
    WHERE catalog_name = %s AND table_namespace = %s AND table_name = %s
"""
CREATE = """
    INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type)
    VALUES (%s, %s, %s, %s, 'TABLE')
"""
NAME_SPACE = """
    INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value)
    VALUES (%s, %s, 'exists', 'true') ON CONFLICT DO NOTHING
"""
POINTERS = "SELECT table_name, metadata_location FROM iceberg_tables WHERE catalog_name = %s AND table_namespace = %s"
POINT = """
    UPDATE iceberg_tables SET metadata_location = %s, previous_metadata_location = NULL
    WHERE catalog_name = %s AND table_namespace = %s AND table_name = %s
"""
FORGET = "DELETE FROM iceberg_tables WHERE catalog_name = %s AND table_namespace = %s AND table_name = ANY (%s)"
MOVE = """
    UPDATE iceberg_tables SET metadata_location = %s, previous_metadata_location = metadata_location
    WHERE catalog_name = %s AND table_namespace = %s AND table_name = %s AND metadata_location = %s
"""


@dataclass(frozen=True)
class PointerMove:
    """A prepared commit: files and metadata are written, and count when the pointer has moved."""

    table: str
    before: str
    after: str

    def make(self, connection: Connection) -> None:
        """To be called in the transaction that the commit is a part of. Guarded: nobody else has committed since."""
        moved = connection.execute(MOVE, [self.after, CATALOG, NAMESPACE, self.table, self.before])
        if moved.rowcount != 1:
            raise CommitFailedException(f"The table {self.table} has been changed by another program.")


class PreparingCatalog(NoopCatalog):
    """Knows Willow's tables; what is committed to one becomes a `PointerMove`."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(CATALOG)
        self._connection = connection
        self.prepared: PointerMove | None = None

    def load_table(self, identifier: Any) -> Table:
        name = identifier[-1] if isinstance(identifier, tuple) else str(identifier).split(".")[-1]
        row = self._connection.execute(FIND, [CATALOG, NAMESPACE, name]).fetchone()
        if row is None:
            raise NoSuchTableError(f"The catalog has no table {name}.")
        return self.table_at(name, row[0])

    def table_at(self, name: str, location: str) -> Table:
        io = load_file_io({}, location)
        metadata = FromInputFile.table_metadata(io.new_input(location))
        return Table((NAMESPACE, name), metadata, location, io, self)

    def make_table(
        self, name: str, schema: Schema, spec: PartitionSpec, location: str, settings: dict[str, str]
    ) -> None:
        metadata = new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, location, dict(settings))
        place = _write(metadata, 0)
        with self._connection.transaction():
            self._connection.execute(NAME_SPACE, [CATALOG, NAMESPACE])
            self._connection.execute(CREATE, [CATALOG, NAMESPACE, name, place])

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        for requirement in requirements:
            requirement.validate(table.metadata)
        metadata = update_table_metadata(table.metadata, updates, metadata_location=table.metadata_location)
        version = MetastoreCatalog._parse_metadata_version(table.metadata_location) + 1
        place = _write(metadata, version)
        self.prepared = PointerMove(table.name()[-1], table.metadata_location, place)
        return CommitTableResponse.model_validate({"metadata": metadata, "metadata-location": place})


def pointers(connection: Connection) -> dict[str, str]:
    """Where the metadata of each table is."""
    return dict(connection.execute(POINTERS, [CATALOG, NAMESPACE]).fetchall())


def point(connection: Connection, name: str, location: str) -> None:
    """Not guarded, and so not for commits."""
    connection.execute(POINT, [location, CATALOG, NAMESPACE, name])


def forget_tables(connection: Connection, names: Iterable[str]) -> None:
    connection.execute(FORGET, [CATALOG, NAMESPACE, list(names)])


def _write(metadata: TableMetadata, version: int) -> str:
    place = load_location_provider(metadata.location, metadata.properties).new_table_metadata_file_location(version)
    ToOutputFile.table_metadata(metadata, load_file_io({}, place).new_output(place))
    return place
