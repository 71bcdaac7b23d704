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
    """One packed array."""

    __slots__ = ("packed",)
    element_oid: int

    def __init__(self, values: Sequence[Any]) -> None:
        count = len(values)
        if not count:
            self.packed = _header(0, 0, self.element_oid, 0, 0)[:12]
            return
        first = values[0]
        # Most columns of most batches say the same of every message.
        elements = self.pack((first,)) * count if values.count(first) == count else self.pack(values)
        self.packed = _header(1, 1, self.element_oid, count, 1) + elements

    def pack(self, values: Sequence[Any]) -> bytes:
        raise NotImplementedError


class BigintColumn(Column):
    __slots__ = ()
    element_oid = BIGINT

    def pack(self, values: Sequence[int | None]) -> bytes:
        return b"".join([NULL if value is None else _bigint(8, value) for value in values])


class Float8Column(Column):
    __slots__ = ()
    element_oid = FLOAT8

    def pack(self, values: Sequence[float | None]) -> bytes:
        return b"".join([NULL if value is None else _float8(8, value) for value in values])


class ByteaColumn(Column):
    __slots__ = ()
    element_oid = BYTEA

    def pack(self, values: Sequence[bytes | None]) -> bytes:
        return b"".join([NULL if value is None else _length(len(value)) + value for value in values])


class TextColumn(ByteaColumn):
    __slots__ = ()
    element_oid = TEXT

    def pack(self, values: Sequence[str | None]) -> bytes:  # type: ignore[override]
        return super().pack([None if value is None else value.encode() for value in values])


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


def register_columns(connection: AsyncConnection[Any] | Connection[Any] | Cursor[Any]) -> None:
    for column, dumper in (
        (BigintColumn, _BigintColumnDumper),
        (Float8Column, _Float8ColumnDumper),
        (ByteaColumn, _ByteaColumnDumper),
        (TextColumn, _TextColumnDumper),
    ):
        connection.adapters.register_dumper(column, dumper)
