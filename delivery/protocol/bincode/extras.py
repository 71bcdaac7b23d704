"""Extras: what a command or frame says beyond its fields, as a list of values of an enum.

The fields of the variants can never change, or binary clients would have to change with them. Extras can become more:
a new one goes to the end of its list, and whoever does not use it never meets it.
"""

import struct
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from delivery.protocol.bincode.reading import TooManyItems, unreadable_field
from delivery.protocol.bincode.types import Number, extra_names
from delivery.protocol.commands import Create
from delivery.protocol.errors import Code, FrameError
from delivery.protocol.fields import MOST_HEADERS
from delivery.protocol.frames import QueueInfo

# The field of a command or frame that each extra holds, and how it is written: None for one whose presence says it
# all, `str` for a text, `dict` for one name and its text, of which there may be several.
Payload = Number | type[str] | type[dict[str, str]] | None
EXTRAS: tuple[tuple[str, Payload], ...] = (
    ("headers", dict),
    ("group", str),
    ("unique", str),
    ("duplicate", None),
    ("attempt", Number("I")),
    ("left", Number("I")),
    ("work_timeout", Number("d")),
    ("final", None),
)
QUEUE_EXTRAS: tuple[tuple[str, Payload], ...] = (
    ("group_in_flight", Number("I")),
    ("max_in_flight", Number("I")),
    ("rate", Number("d")),
    ("burst", Number("d")),
    ("keep_replies", Number("d")),
)

MOST_EXTRAS = 2 * MOST_HEADERS  # of one command: as many headers as it may have, and some of each other kind

ExtrasReader = Callable[[bytes, int, dict[str, Any]], int]
ExtrasWriter = Callable[[Any], list[bytes]]

_U32, _U64, _F64 = struct.Struct("<I"), struct.Struct("<Q"), struct.Struct("<d")
_NUMBERS = {"I": _U32, "Q": _U64, "d": _F64}


def extras_of(struct_type: type[Struct]) -> tuple[tuple[str, Payload], ...]:
    return QUEUE_EXTRAS if struct_type in (Create, QueueInfo) else EXTRAS


def extras_reader(command: type[Struct]) -> ExtrasReader:
    """Reads the extras at a place in a frame into the dict, by the names of their fields; tells where it stopped."""
    known, allowed = extras_of(command), extra_names(command)

    def read(data: bytes, at: int, values: dict[str, Any]) -> int:
        try:
            at, misplaced = _read_all(data, at, values, known, allowed)
        except (struct.error, IndexError, KeyError, UnicodeDecodeError) as error:
            raise unreadable_field("extras", error, values.get("label")) from None
        if misplaced:
            values["extras"] = misplaced
        return at

    return read


def _read_all(
    data: bytes, at: int, values: dict[str, Any], known: tuple[tuple[str, Payload], ...], allowed: frozenset[str]
) -> tuple[int, str | None]:
    """Returns where the extras end, and the name of one that has no place in this command."""
    [count] = _U64.unpack_from(data, at)
    if count > MOST_EXTRAS:
        raise TooManyItems(count, MOST_EXTRAS)
    at += _U64.size
    misplaced = None
    for _ in range(count):
        [number] = _U32.unpack_from(data, at)
        if number >= len(known):
            raise KeyError(number)
        name, payload = known[number]
        value, at = _read_payload(data, at + _U32.size, payload)
        if name not in allowed:
            misplaced = name
        elif isinstance(value, tuple):
            values.setdefault(name, {})[value[0]] = value[1]
        else:
            values[name] = value
    return at, misplaced


def _read_payload(data: bytes, at: int, payload: Payload) -> tuple[Any, int]:
    if payload is None:
        return True, at
    if isinstance(payload, Number):
        number = _NUMBERS[payload.format]
        return number.unpack_from(data, at)[0], at + number.size
    if payload is str:
        return _read_text(data, at)
    name, at = _read_text(data, at)
    text, at = _read_text(data, at)
    return (name, text), at


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    start = at + _U64.size
    end = start + _U64.unpack_from(data, at)[0]
    if end > len(data):
        raise IndexError
    return data[start:end].decode(), end


def refuse_misplaced(values: dict[str, Any]) -> None:
    """Of a command whose extras could be read, though one of them is not for it."""
    if (name := values.pop("extras", None)) is not None:
        raise FrameError(Code.BAD_REQUEST, "extras", f"`extras` has `{name}`, which has no place in this command.")


def extras_writer(frame: type[Struct]) -> ExtrasWriter:
    """Writes each extra that a frame has something to say in."""
    allowed = extra_names(frame)
    places = [(number, *extra) for number, extra in enumerate(extras_of(frame)) if extra[0] in allowed]

    def write(value: Any) -> list[bytes]:
        written: list[bytes] = []
        for number, name, payload in places:
            given = getattr(value, name)
            if given is not None and given is not False:
                written += _written(_U32.pack(number), payload, given)
        return written

    return write


def _written(number: bytes, payload: Payload, value: Any) -> list[bytes]:
    if payload is None:
        return [number]
    if isinstance(payload, Number):
        return [number + _NUMBERS[payload.format].pack(value)]
    if payload is str:
        return [number + _text(value)]
    return [number + _text(name) + _text(text) for name, text in value.items()]


def _text(text: str) -> bytes:
    data = text.encode()
    return _U64.pack(len(data)) + data
