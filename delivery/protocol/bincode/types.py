"""How the fields of a struct are laid out in bincode, read off their declared types."""

from dataclasses import dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from delivery.protocol.fields import Stage, Wire


@dataclass(frozen=True)
class Number:
    """A fixed width number; the format is that of the `struct` module."""

    format: Literal["I", "Q", "d"]


@dataclass(frozen=True)
class LabelOrZero:
    """u64, where 0 stands for no label."""


@dataclass(frozen=True)
class Boolean:
    """One byte."""


@dataclass(frozen=True)
class Text:
    """Length (u64) and UTF-8."""


@dataclass(frozen=True)
class Bytes:
    """Length (u64) and bytes."""


@dataclass(frozen=True)
class Choice:
    """An enum without values: the place of its name in the list, as u32."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Start:
    """The enum of `subscribe.from`: 0 new, 1 oldest, 2 and an index (u64)."""


@dataclass(frozen=True)
class Sequence:
    """Count (u64) and the items."""

    item: "WireType"


@dataclass(frozen=True)
class Option:
    """0, or 1 and the value."""

    item: "WireType"


@dataclass(frozen=True)
class Record:
    """The fields of a struct, one after the other."""

    struct: type[Struct]


WireType = Number | LabelOrZero | Boolean | Text | Bytes | Choice | Start | Sequence | Option | Record

_BY_MARK: dict[Wire, WireType] = {
    Wire.U32: Number("I"),
    Wire.U64: Number("Q"),
    Wire.BYTES: Bytes(),
    Wire.NAMES: Sequence(Text()),
    Wire.LABEL_OR_ZERO: LabelOrZero(),
    Wire.START: Start(),
    Wire.STAGE: Choice(get_args(Stage)),
}
_BY_TYPE: dict[type, WireType] = {bool: Boolean(), float: Number("d"), str: Text()}


def layout(struct: type[Struct]) -> list[tuple[FieldInfo, WireType]]:
    """The fields of a struct in their order, each with its type on the wire; without extras and what only JSON has."""
    return [(field, _field_type(field)) for field in fields(struct) if not _is_elsewhere(field)]


def extra_names(struct: type[Struct]) -> frozenset[str]:
    """The fields of a struct that travel as extras."""
    return frozenset(field.name for field in fields(struct) if Wire.EXTRA in get_args(field.type))


def _is_elsewhere(field: FieldInfo) -> bool:
    marks = get_args(field.type)
    return Wire.EXTRA in marks or Wire.JSON_ONLY in marks


def _field_type(field: FieldInfo) -> WireType:
    wire_type = _wire_type(field.type)
    if field.required or isinstance(wire_type, Option | Sequence | LabelOrZero):
        return wire_type
    if Wire.WITHOUT_OPTION in get_args(field.type):
        return wire_type
    return Option(wire_type)


def _wire_type(hint: Any) -> WireType:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        marked = (_BY_MARK[mark] for mark in arguments[1:] if mark in _BY_MARK)
        return next(marked, None) or _wire_type(arguments[0])
    if origin in (Union, UnionType):
        return Option(_wire_type(next(argument for argument in arguments if argument is not NoneType)))
    if origin is Literal:
        return Choice(arguments)
    if origin in (tuple, frozenset):
        return Sequence(_wire_type(arguments[0]))
    if issubclass(hint, Enum):
        return Choice(tuple(hint))
    if issubclass(hint, Struct):
        return Record(hint)
    return _BY_TYPE[hint]
