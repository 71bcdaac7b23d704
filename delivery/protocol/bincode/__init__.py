"""Commands and frames as bincode 1.x.

Commands stand back to back in a frame. One that cannot be read hides where the next begins, so reading ends
with its error; one that can be read but breaks a rule gets its error, and the next is read.
"""

import reprlib
import struct
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from delivery.protocol.bincode.extras import extras_reader, refuse_misplaced
from delivery.protocol.bincode.reading import FieldReader, UnreadableField, compile_field_reader
from delivery.protocol.bincode.writing import Writer, compile_frame_writer, compile_writer_with_extras
from delivery.protocol.commands import Command
from delivery.protocol.errors import Code, FrameError, unreadable_frame
from delivery.protocol.frames import Frame
from delivery.protocol.limits import (
    MOST_COMMANDS_PER_FRAME,
    FrameEnds,
    Limits,
    frame_too_large,
    in_messages,
    within_limits,
)
from delivery.protocol.refusals import refusal_of
from delivery.protocol.variants import BODY_FIELDS, COMMAND_VARIANTS, FRAME_VARIANTS, WithExtras

_VARIANT_BYTES = 4
_LENGTH_BYTES = 8
_NO_LENGTH = bytes(_LENGTH_BYTES)
_read_variant = struct.Struct("<I").unpack_from


def _reader_of(variant: type[Command] | WithExtras) -> tuple[Any, FieldReader]:
    if not isinstance(variant, WithExtras):
        return variant, compile_field_reader(variant)
    read_fields, read_extras = compile_field_reader(variant.struct), extras_reader(variant.struct)
    return variant.struct, lambda data, at, values: read_extras(data, read_fields(data, at, values), values)


def _writers() -> tuple[dict[type[Any], Writer], dict[type[Any], Writer]]:
    """Of each frame, as every client reads it; and of those that have one, the variant with extras."""
    plain: dict[type[Any], Writer] = {}
    with_extras: dict[type[Any], Writer] = {}
    for number, variant in enumerate(FRAME_VARIANTS):
        if isinstance(variant, WithExtras):
            with_extras[variant.struct] = compile_writer_with_extras(variant.struct, plain[variant.struct], number)
        else:
            plain[variant] = compile_frame_writer(variant, number)
    return plain, plain | with_extras


_READERS = {number: _reader_of(variant) for number, variant in enumerate(COMMAND_VARIANTS)}
_WRITERS, _WRITERS_WITH_EXTRAS = _writers()


class Encoder:
    """Frames for one connection, in the form that it asked for."""

    part = "bytes"  # of a WebSocket's message

    def __init__(self, limits: Limits, *, extras: bool = False) -> None:
        self._limits = limits
        self._writers = _WRITERS_WITH_EXTRAS if extras else _WRITERS

    def encode(self, frame: Frame) -> bytes:
        return self._writers[type(frame)](frame)

    def encode_batch(self, frames: Iterable[Frame]) -> list[bytes]:
        """As few messages as the limit allows."""
        return [b"".join(group) for group in in_messages(map(self.encode, frames), self._limits)]


def decode(data: bytes, limits: Limits) -> list[Command | FrameError]:
    """The commands of a frame in their order, with an error in the place of each that cannot be taken."""
    size = len(data)
    if size > limits.max_frame_bytes:
        return [too_large(FrameEnds(data), limits)]
    if not data:
        return [unreadable_frame("The frame holds no command.")]
    commands: list[Command | FrameError] = []
    at = 0
    try:
        while at < size and len(commands) <= MOST_COMMANDS_PER_FRAME:
            command, read_fields = _READERS[_read_variant(data, at)[0]]
            values: dict[str, Any] = {}
            at = read_fields(data, at + _VARIANT_BYTES, values)
            try:
                commands.append(_command_of(command, values))
            except (FrameError, msgspec.ValidationError) as error:
                commands.append(_refusal_of_values(error, command, values))
    except FrameError as error:
        commands.append(error)
    except (struct.error, KeyError) as error:
        commands.append(_refusal_of_variant(error))
    return within_limits(commands, size, limits)


def _command_of(command_type: type[Command], values: dict[str, Any]) -> Command:
    if "extras" in values:
        refuse_misplaced(values)
    body_field = BODY_FIELDS.get(command_type)
    body = values.get(body_field) if body_field is not None else None
    if body_field is None or body is None:
        return msgspec.convert(values, command_type)
    values[body_field] = ""  # the types of bodies are those that JSON has
    command: Command = msgspec.convert(values, command_type)
    force_setattr(command, body_field, body)
    return command


def too_large(frame: FrameEnds, limits: Limits) -> FrameError:
    return frame_too_large(limits, _label_of_cut(frame))


def _label_of_cut(frame: FrameEnds) -> int | None:
    """The label of a frame that holds one command, of which only the beginning and the end are left."""
    data = frame.head
    for _ in range(2):  # without its body, it is small enough to be all there
        [first, *others] = decode(data, Limits(len(data), len(data))) if data else [None]
        label: int | None = getattr(first, "label", None)
        if label is not None or others or not isinstance(first, UnreadableField) or first.beyond is None:
            return label if not others else None
        behind = frame.from_place(first.beyond.end)
        if behind is None:
            return None
        data = data[: first.beyond.begin - _LENGTH_BYTES] + _NO_LENGTH + behind
    return None


def _refusal_of_values(
    error: FrameError | msgspec.ValidationError, command: type[Command], values: dict[str, Any]
) -> FrameError:
    """What to answer to a command that could be read, but breaks a rule that holds in JSON too."""
    if isinstance(error, FrameError):
        refusal = error
    else:
        refusal = refusal_of(error, command, lambda key: reprlib.repr(values[key]))
    refusal.label = values.get("label")
    return refusal


def _refusal_of_variant(error: struct.error | KeyError) -> FrameError:
    if isinstance(error, KeyError):
        return FrameError(Code.BAD_REQUEST, "type", f"{error} is not the number of a command.")
    return FrameError(Code.BAD_REQUEST, "type", "The frame ends inside the number of a command.")
