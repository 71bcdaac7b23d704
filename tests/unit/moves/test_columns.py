"""The columns that moves give to their statements are of the types that the statements declare."""

import re

import pytest

from delivery.moves.endings import FinishRequest, finish_columns
from delivery.storage.columns import BigintColumn, ByteaColumn, Column, Float8Column, TextColumn
from delivery.storage.statements import statement

TYPES: dict[str, type[Column]] = {
    "bigint": BigintColumn,
    "bytea": ByteaColumn,
    "float8": Float8Column,
    "text": TextColumn,
}


@pytest.mark.parametrize("reply", [None, b"\xff"])
def test_a_finish_has_the_columns_of_its_statement(reply: bytes | None) -> None:
    request = FinishRequest(queue_id=1, sequence=2, index=3, holder=4, reply=reply, answer=lambda error: None)
    declared = re.findall(r"%\((\w+)\)b::(\w+)\[\]", statement("finish"))
    given = {name: type(column) for name, column in finish_columns([request]).items()}
    assert given == {name: TYPES[kind] for name, kind in declared}
