"""Compiles the function that writes a frame as bincode.

It writes the source of one straight function per frame, as dataclasses does for its methods, in which
numbers that follow one another are packed by one call.
"""

import struct
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from delivery.protocol.bincode.extras import extras_writer
from delivery.protocol.bincode.types import (
    Boolean,
    Bytes,
    Choice,
    LabelOrZero,
    Number,
    Option,
    Record,
    Sequence,
    Start,
    Text,
    WireType,
    layout,
)

Writer = Callable[[Any], bytes]


def compile_frame_writer(frame: type[Struct], variant: int) -> Writer:
    source = _WriterSource()
    source.add_number("I", str(variant))
    source.add_fields(frame, "value")
    return source.compile(f"<bincode writer of {frame.__name__}>")


def compile_writer_with_extras(frame: type[Struct], plain: Writer, variant: int) -> Writer:
    """Writes a frame as it is where it has no more to say, and otherwise as the variant with extras."""
    number, write_extras = struct.pack("<I", variant), extras_writer(frame)

    def write(value: Any) -> bytes:
        extras = write_extras(value)
        if not extras:
            return plain(value)
        fields = plain(value)[len(number) :]
        return b"".join((number, fields, struct.pack("<Q", len(extras)), *extras))

    return write


def _compile_value_writer(wire_type: WireType) -> Writer:
    source = _WriterSource()
    source.add(wire_type, "value")
    return source.compile("<bincode writer of a value>")


class _WriterSource:
    """The source of a writer, and the names that it uses."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._chunks: list[str] = []
        # Numbers that wait to be packed together: their formats and expressions.
        self._numbers: list[tuple[str, str]] = []
        self._namespace: dict[str, Any] = {}

    def compile(self, filename: str) -> Writer:
        self._pack_numbers()
        chunks = "".join(f"{chunk}, " for chunk in self._chunks)
        lines = ["def write(value):", *self._lines, f"    return b''.join(({chunks}))"]
        exec(compile("\n".join(lines), filename, "exec"), self._namespace)
        writer: Writer = self._namespace["write"]
        return writer

    def add_fields(self, record: type[Struct], value: str) -> None:
        for field, wire_type in layout(record):
            self.add(wire_type, f"{value}.{field.name}")

    def add_number(self, format: str, expression: str) -> None:
        self._numbers.append((format, expression))

    def add(self, wire_type: WireType, value: str) -> None:
        """Appends the value, which is an expression of the source."""
        match wire_type:
            case Number(format):
                self.add_number(format, value)
            case LabelOrZero():
                self.add_number("Q", f"{value} or 0")
            case Boolean():
                self.add_number("?", value)
            case Choice(names):
                self.add_number("I", f"{self._named({name: n for n, name in enumerate(names)})}[{value}]")
            case Text():
                self._add_text(value)
            case Bytes():
                self._add_bytes(value)
            case Sequence(item):
                self.add_number("Q", f"len({value})")
                self._add_chunk(f"b''.join(map({self._named(_compile_value_writer(item))}, {value}))")
            case Option(item):
                self._add_option(item, value)
            case Record(record):
                self.add_fields(record, value)
            case Start():
                raise TypeError("no frame has a field of this type")

    def _add_text(self, value: str) -> None:
        text = f"text_{len(self._lines)}"
        self._lines.append(f"    {text} = {value}.encode()")
        self._add_bytes(text)

    def _add_bytes(self, value: str) -> None:
        self.add_number("Q", f"len({value})")
        self._add_chunk(value)

    def _add_option(self, item: WireType, value: str) -> None:
        some = _WriterSource()
        some.add_number("?", "True")
        some.add(item, "value")
        writer = self._named(some.compile("<bincode writer of an option>"))
        self._add_chunk(f"b'\\0' if {value} is None else {writer}({value})")

    def _add_chunk(self, expression: str) -> None:
        self._pack_numbers()
        self._chunks.append(expression)

    def _pack_numbers(self) -> None:
        if self._numbers:
            formats, expressions = zip(*self._numbers, strict=True)
            pack = self._named(struct.Struct("<" + "".join(formats)).pack)
            self._chunks.append(f"{pack}({', '.join(expressions)})")
            self._numbers.clear()

    def _named(self, helper: Any) -> str:
        """The name by which the source can use the helper."""
        name = f"helper_{len(self._namespace)}"
        self._namespace[name] = helper
        return name
