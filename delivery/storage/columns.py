"""Arrays for `unnest`, packed straight into PostgreSQL's binary format.

psycopg dumps lists element by element through a dumper each; for the dozen columns of a few hundred messages that
costs more than all else the broker does with them. Packing whole columns takes a tenth of the time.
"""

import struct
from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection, Connection, Cursor
from psycopg.adapt import Dumper
from psycopg.pq import Format

NULL = b"\xff\xff\xff\xff"  # length -1
BYTEA, BIGINT, TEXT, FLOAT8 = 17, 20, 25, 701  # OIDs of the elements
BYTEA_ARRAY, BIGINT_ARRAY, TEXT_ARRAY, FLOAT8_ARRAY = 1001, 1016, 1009, 1022

_header = struct.Struct(">iiIii").pack  # dimensions, has nulls, element OID, length, lower bound
_bigint = struct.Struct(">iq").pack
_float8 = struct.Struct(">id").pack
_length = struct.Struct(">i").pack


class Column:
    """An array, which is packed when it is sent."""

    __slots__ = ("_values",)
    element_oid: int

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    @property
    def packed(self) -> bytes:
        values, count = self._values, len(self._values)
        if not count:
            return _header(0, 0, self.element_oid, 0, 0)[:12]
        header, first = _header(1, 1, self.element_oid, count, 1), values[0]
        if count > 1 and values.count(first) == count:  # most columns of most batches say the same of every message
            return header + b"".join(self.parts((first,))) * count
        return b"".join((header, *self.parts(values)))

    def parts(self, values: Sequence[Any]) -> list[bytes]:
        """What stands for these values, one after the other. They are put together once: some are large."""
        raise NotImplementedError


class BigintColumn(Column):
    __slots__ = ()
    element_oid = BIGINT

    def parts(self, values: Sequence[int | None]) -> list[bytes]:
        return [NULL if value is None else _bigint(8, value) for value in values]


def packed_bigint(value: int) -> bytes:
    """As PackedBigintColumn takes it."""
    return _bigint(8, value)


class PackedBigintColumn(Column):
    """Of numbers that are packed already, because they are sent again and again."""

    __slots__ = ()
    element_oid = BIGINT

    def parts(self, values: Sequence[bytes]) -> list[bytes]:
        return list(values)


class Float8Column(Column):
    __slots__ = ()
    element_oid = FLOAT8

    def parts(self, values: Sequence[float | None]) -> list[bytes]:
        return [NULL if value is None else _float8(8, value) for value in values]


class ByteaColumn(Column):
    __slots__ = ()
    element_oid = BYTEA

    def parts(self, values: Sequence[bytes | None]) -> list[bytes]:
        parts: list[bytes] = []
        for value in values:
            parts += (NULL,) if value is None else (_length(len(value)), value)
        return parts


class TextColumn(ByteaColumn):
    __slots__ = ()
    element_oid = TEXT

    def parts(self, values: Sequence[str | None]) -> list[bytes]:  # type: ignore[override]
        return super().parts([None if value is None else value.encode() for value in values])


class _ColumnDumper(Dumper):
    format = Format.BINARY

    def dump(self, column: Column) -> bytes:
        return column.packed


class _BigintColumnDumper(_ColumnDumper):
    oid = BIGINT_ARRAY


class _Float8ColumnDumper(_ColumnDumper):
    oid = FLOAT8_ARRAY


class _ByteaColumnDumper(_ColumnDumper):
    oid = BYTEA_ARRAY


class _TextColumnDumper(_ColumnDumper):
    oid = TEXT_ARRAY


_DUMPERS: dict[type[Column], type[_ColumnDumper]] = {
    BigintColumn: _BigintColumnDumper,
    PackedBigintColumn: _BigintColumnDumper,
    Float8Column: _Float8ColumnDumper,
    ByteaColumn: _ByteaColumnDumper,
    TextColumn: _TextColumnDumper,
}
COLUMNS = tuple(_DUMPERS)


def register_columns(connection: AsyncConnection[Any] | Connection[Any] | Cursor[Any]) -> None:
    for column, dumper in _DUMPERS.items():
        connection.adapters.register_dumper(column, dumper)
