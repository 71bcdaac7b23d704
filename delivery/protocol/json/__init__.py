"""Commands and frames as JSON text.

A frame is decoded in one go by a typed decoder. Only when that fails is it taken apart, command by command.
"""

from collections.abc import Iterable
from typing import Any, Union

import msgspec
from msgspec.structs import force_setattr

from delivery.protocol.errors import FrameError, unreadable_frame
from delivery.protocol.frames import BODY_FIELDS, COMMANDS, Command, Frame
from delivery.protocol.json.recovery import UNREADABLE, decode_one_by_one
from delivery.protocol.limits import Limits, frame_too_large, within_limits

_AnyCommand: Any = Union[COMMANDS]  # noqa: UP007 -- its members are only known at run time
_FRAME_DECODER = msgspec.json.Decoder(_AnyCommand | list[_AnyCommand])
_ENCODER = msgspec.json.Encoder()


def encode(frame: Frame) -> str:
    return _ENCODER.encode(_with_json_body(frame)).decode()


def encode_batch(frames: Iterable[Frame]) -> str:
    return _ENCODER.encode([_with_json_body(frame) for frame in frames]).decode()


def decode(data: str | bytes, limits: Limits) -> list[Command | FrameError]:
    """The commands of a frame in their order, with an error in the place of each that cannot be taken."""
    if isinstance(data, str) and not data.isascii():
        data = data.encode("utf-8", "surrogatepass")
    size = len(data)
    if size > limits.max_frame_bytes:
        return [frame_too_large(limits)]
    try:
        decoded = _FRAME_DECODER.decode(data)
    except (FrameError, *UNREADABLE):
        commands = decode_one_by_one(data.encode() if isinstance(data, str) else data)
    else:
        commands = decoded if isinstance(decoded, list) else [decoded]
    if not commands:
        return [unreadable_frame("The frame holds no command.")]
    return within_limits(commands, size, limits)


def _with_json_body(frame: Frame) -> Frame:
    """The frame with its body as JSON carries it; msgspec would write bytes as base64."""
    field = BODY_FIELDS.get(type(frame))
    if field is None or (body := getattr(frame, field)) is None:
        return frame
    # msgspec's replace() takes a third longer, and its stubs leave __copy__ out.
    json_frame: Frame = frame.__copy__()  # type: ignore[attr-defined]
    force_setattr(json_frame, field, _json_body(body))
    return json_frame


def _json_body(body: bytes) -> str | list[int]:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return list(body)
