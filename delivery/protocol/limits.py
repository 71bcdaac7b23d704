"""How large a frame and a body may be, and how many commands a frame may hold."""

from msgspec import Struct

from delivery.protocol.errors import Code, FrameError
from delivery.protocol.frames import BODY_FIELDS, Command

# Each may need an answer of its own; a frame full of nonsense must not keep the broker busy for seconds.
MOST_COMMANDS_PER_FRAME = 10_000


class Limits(Struct, frozen=True):
    max_body_bytes: int
    max_frame_bytes: int


def frame_too_large(limits: Limits) -> FrameError:
    limit = limits.max_frame_bytes
    return FrameError(Code.TOO_LARGE, str(limit), f"A frame may have at most {limit} bytes.")


def too_many_commands() -> FrameError:
    limit = MOST_COMMANDS_PER_FRAME
    return FrameError(Code.TOO_LARGE, str(limit), f"A frame may hold at most {limit} commands.")


def within_limits(commands: list[Command | FrameError], frame_bytes: int, limits: Limits) -> list[Command | FrameError]:
    """The commands, with an error in the place of each that has too large a body, or of all too many."""
    if len(commands) > MOST_COMMANDS_PER_FRAME:
        return [too_many_commands()]
    # No body is longer than the frame that it came in, in either encoding.
    if frame_bytes <= limits.max_body_bytes:
        return commands
    return [_oversize(command, limits.max_body_bytes) or command for command in commands]


def _oversize(command: Command | FrameError, limit: int) -> FrameError | None:
    field = BODY_FIELDS.get(type(command)) if isinstance(command, Command) else None
    body = getattr(command, field) if field else None
    if body is None or len(body) <= limit:
        return None
    message = f"`{field}` has {len(body)} bytes, and at most {limit} are allowed."
    return FrameError(Code.TOO_LARGE, str(limit), message, label=getattr(command, "label", None))
