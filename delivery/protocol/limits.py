"""How large a frame and a body may be, and how many commands a frame may hold."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from msgspec import Struct

from delivery.protocol.commands import Command
from delivery.protocol.errors import Code, FrameError
from delivery.protocol.readable_sizes import MOST_BESIDE_BODY_BYTES, base64_bytes, fits_json_reader
from delivery.protocol.variants import BODY_FIELDS

# Each may need an answer of its own; a frame full of nonsense must not keep the broker busy for seconds.
MOST_COMMANDS_PER_FRAME = 10_000
KEPT_BYTES = 32 * 1024  # of the beginning, and of the end, of a frame that is too large
MOST_FRAGMENTS = 16_384  # of one WebSocket message: each takes more memory than its bytes
BETWEEN_FRAMES_BYTES = 2  # a comma, and a share of the brackets around an array

Encoded = TypeVar("Encoded", str, bytes)


class Limits(Struct, frozen=True):
    max_body_bytes: int
    max_frame_bytes: int


class FrameEnds:
    """What is kept of a frame that is too large: its two ends, in which a label may be."""

    def __init__(self, *parts: bytes) -> None:
        self.head = self.tail = b""
        self.size = 0
        for part in parts:
            self.add(part)

    def add(self, part: bytes) -> None:
        self.size += len(part)
        if len(self.head) < KEPT_BYTES:
            self.head += part[: KEPT_BYTES - len(self.head)]
        self.tail = part[-KEPT_BYTES:] if len(part) >= KEPT_BYTES else (self.tail + part)[-KEPT_BYTES:]

    def from_place(self, begin: int) -> bytes | None:
        """All from a place to the end, if that is kept."""
        place_in_tail = begin - (self.size - len(self.tail))
        return self.tail[place_in_tail:] if 0 <= place_in_tail <= len(self.tail) else None


def frame_too_large(limits: Limits, label: int | None = None) -> FrameError:
    limit = limits.max_frame_bytes
    return FrameError(Code.TOO_LARGE, str(limit), f"A frame may have at most {limit} bytes.", label)


def too_many_fragments(label: int | None) -> FrameError:
    limit = MOST_FRAGMENTS
    return FrameError(Code.TOO_LARGE, str(limit), f"A frame may come in at most {limit} fragments.", label)


def too_many_commands() -> FrameError:
    limit = MOST_COMMANDS_PER_FRAME
    return FrameError(Code.TOO_LARGE, str(limit), f"A frame may hold at most {limit} commands.")


def in_messages(encoded: Iterable[Encoded], limits: Limits) -> Iterator[list[Encoded]]:
    """Frames in groups that are sent together, none larger than a frame may be unless it is a single one."""
    group: list[Encoded] = []
    size = 0
    for frame in encoded:
        size += len(frame) + BETWEEN_FRAMES_BYTES
        if group and size > limits.max_frame_bytes:
            yield group
            group, size = [], len(frame) + BETWEEN_FRAMES_BYTES
        group.append(frame)
    if group:
        yield group


def within_limits(commands: list[Command | FrameError], frame_bytes: int, limits: Limits) -> list[Command | FrameError]:
    """The commands, with an error in the place of each that has too large a body, or of all too many."""
    if len(commands) > MOST_COMMANDS_PER_FRAME:
        return [too_many_commands()]
    # No body is longer than the frame that it came in, in either encoding.
    most_read_bytes = base64_bytes(frame_bytes) + MOST_BESIDE_BODY_BYTES
    if frame_bytes <= limits.max_body_bytes and most_read_bytes <= limits.max_frame_bytes:
        return commands
    return [_oversize(command, limits) or command for command in commands]


def _oversize(command: Command | FrameError, limits: Limits) -> FrameError | None:
    field = BODY_FIELDS.get(type(command)) if isinstance(command, Command) else None
    body = getattr(command, field) if field else None
    if body is None:
        return None
    if len(body) > limits.max_body_bytes:
        limit, reason = limits.max_body_bytes, f"and at most {limits.max_body_bytes} are allowed"
    elif not fits_json_reader(command, body, limits.max_frame_bytes):
        limit, reason = (
            limits.max_frame_bytes,
            f"for which JSON would need a frame of more than {limits.max_frame_bytes}",
        )
    else:
        return None
    message = f"`{field}` has {len(body)} bytes, {reason}."
    return FrameError(Code.TOO_LARGE, str(limit), message, getattr(command, "label", None))
