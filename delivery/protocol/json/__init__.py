"""Commands and frames as JSON text.

A frame is decoded in one go by a typed decoder. Only when that fails, or when the frame is large, is it taken apart,
command by command and member by member.
"""

import binascii
from collections.abc import Iterable
from typing import Any, Union

import msgspec
from msgspec.structs import force_setattr

from delivery.protocol.commands import Command
from delivery.protocol.errors import FrameError, unreadable_frame
from delivery.protocol.frames import Frame
from delivery.protocol.json.recovery import UNREADABLE, decode_one_by_one
from delivery.protocol.json.too_large import too_large
from delivery.protocol.limits import FrameEnds, Limits, in_messages, within_limits
from delivery.protocol.readable_sizes import array_bytes
from delivery.protocol.variants import BODY_FIELDS, COMMANDS

# A decoder makes objects of a frame before it looks at their number: of one that is larger, by its parts.
LARGE_BYTES = 1024 * 1024

_AnyCommand: Any = Union[COMMANDS]  # noqa: UP007 -- its members are only known at run time
_FRAME_DECODER = msgspec.json.Decoder(_AnyCommand | list[_AnyCommand])
_ENCODER = msgspec.json.Encoder()


class Encoder:
    """Frames for one connection, in the form that it asked for."""

    part = "text"  # of a WebSocket's message

    def __init__(self, limits: Limits, *, base64: bool = False) -> None:
        self._limits = limits
        self._base64 = base64

    def encode(self, frame: Frame) -> str:
        return self._encoded(frame).decode()

    def encode_batch(self, frames: Iterable[Frame]) -> list[str]:
        """As few messages as the limit allows; one that holds several frames is an array."""
        frames = list(frames)
        at_once = _ENCODER.encode(list(map(self._for_json, frames)))
        if len(at_once) <= self._limits.max_frame_bytes:  # nearly always
            return [at_once.decode()]
        groups = in_messages(map(self._encoded, frames), self._limits)
        return [f"[{b','.join(group).decode()}]" for group in groups]

    def _encoded(self, frame: Frame) -> bytes:
        encoded = _ENCODER.encode(self._for_json(frame))
        if len(encoded) > self._limits.max_frame_bytes and (body := _body_of(frame)) is not None:
            return _ENCODER.encode(_with_body(frame, _in_base64(body)))
        return encoded

    def _for_json(self, frame: Frame) -> Frame:
        body = _body_of(frame)
        return frame if body is None else _with_body(frame, self._json_body(body))

    def _json_body(self, body: bytes) -> str | list[int] | dict[str, str]:
        try:
            return body.decode()
        except UnicodeDecodeError:
            if self._base64 or array_bytes(body) > self._limits.max_frame_bytes:
                return _in_base64(body)
            return list(body)


def decode(data: str | bytes, limits: Limits) -> list[Command | FrameError]:
    """The commands of a frame in their order, with an error in the place of each that cannot be taken."""
    if isinstance(data, str) and not data.isascii():
        data = data.encode("utf-8", "surrogatepass")
    size = len(data)
    if size > limits.max_frame_bytes:
        return [too_large(FrameEnds(_as_bytes(data)), limits)]
    commands = decode_one_by_one(_as_bytes(data)) if size > LARGE_BYTES else _decode_at_once(data)
    if not commands:
        return [unreadable_frame("The frame holds no command.")]
    return within_limits(commands, size, limits)


def _decode_at_once(data: str | bytes) -> list[Command | FrameError]:
    try:
        decoded = _FRAME_DECODER.decode(data)
    except (FrameError, *UNREADABLE):
        return decode_one_by_one(_as_bytes(data))
    return decoded if isinstance(decoded, list) else [decoded]


def _as_bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data


def _body_of(frame: Frame) -> bytes | None:
    field = BODY_FIELDS.get(type(frame))
    return None if field is None else getattr(frame, field)


def _with_body(frame: Frame, body: Any) -> Frame:
    """The frame with its body as JSON carries it; msgspec would write bytes as a base64 text."""
    # msgspec's replace() takes a third longer, and its stubs leave __copy__ out.
    json_frame: Frame = frame.__copy__()  # type: ignore[attr-defined]
    force_setattr(json_frame, BODY_FIELDS[type(frame)], body)
    return json_frame


def _in_base64(body: bytes) -> dict[str, str]:
    return {"base64": binascii.b2a_base64(body, newline=False).decode()}
