"""Commands and frames as bincode 1.x.

Commands stand back to back in a frame. One that cannot be read hides where the next begins, so reading ends
with its error; one that can be read but breaks a rule gets its error, and the next is read.
"""

import reprlib
import struct
from collections.abc import Iterable
from typing import Any

import msgspec

from delivery.protocol.bincode.reading import compile_field_reader
from delivery.protocol.bincode.writing import compile_frame_writer
from delivery.protocol.errors import Code, FrameError, unreadable_frame
from delivery.protocol.frames import COMMANDS, FRAMES, Command, Frame
from delivery.protocol.limits import MOST_COMMANDS_PER_FRAME, Limits, frame_too_large, within_limits
from delivery.protocol.refusals import refusal_of

_READERS = {variant: (command, compile_field_reader(command)) for variant, command in enumerate(COMMANDS)}
_WRITERS = {frame: compile_frame_writer(frame, variant) for variant, frame in enumerate(FRAMES)}
_VARIANT_BYTES = 4
_read_variant = struct.Struct("<I").unpack_from


def encode(frame: Frame) -> bytes:
    return _WRITERS[type(frame)](frame)


def encode_batch(frames: Iterable[Frame]) -> bytes:
    return b"".join([_WRITERS[type(frame)](frame) for frame in frames])


def decode(data: bytes, limits: Limits) -> list[Command | FrameError]:
    """The commands of a frame in their order, with an error in the place of each that cannot be taken."""
    size = len(data)
    if size > limits.max_frame_bytes:
        return [frame_too_large(limits)]
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
                commands.append(msgspec.convert(values, command))
            except (FrameError, msgspec.ValidationError) as error:
                commands.append(_refusal_of_values(error, command, values))
    except FrameError as error:
        commands.append(error)
    except (struct.error, KeyError) as error:
        commands.append(_refusal_of_variant(error))
    return within_limits(commands, size, limits)


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
