"""The one kind of error that crosses a layer, with the codes of the protocol."""

from enum import StrEnum

SHOWN_VALUE_CHARACTERS = 60


class Code(StrEnum):
    """What went wrong, for a program. The order is the number of the code in bincode."""

    NO_OBJECT = "NoObject"
    OBJECT_ALREADY_EXISTS = "ObjectAlreadyExists"
    PERMISSION_DENIED = "PermissionDenied"
    BAD_REQUEST = "BadRequest"
    TOO_LARGE = "TooLarge"
    OVERLOADED = "Overloaded"
    UNAVAILABLE = "Unavailable"
    FAILED = "Failed"


class WillowError(Exception):
    """A refusal: `code` for a program, `key` for what it is about, `message` for a person."""

    def __init__(self, code: Code, key: str, message: str) -> None:
        super().__init__(code, key, message)
        self.code = code
        self.key = key
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class FrameError(WillowError):
    """A frame, or one command of it, that cannot be taken. The codecs raise and return nothing else."""

    def __init__(self, code: Code, key: str, message: str, label: int | None = None) -> None:
        super().__init__(code, key, message)
        self.label = label


def refused_value(key: str, expected: str, value: str) -> FrameError:
    """The error of a field whose value breaks its rule."""
    return FrameError(Code.BAD_REQUEST, key, f"`{key}` must be {expected}, not {shown(value)}.")


def missing_field(key: str) -> FrameError:
    return FrameError(Code.BAD_REQUEST, key, f"`{key}` is missing.")


def unreadable_frame(reason: str) -> FrameError:
    """The error of a frame, or a command of it, that has no field to blame."""
    return FrameError(Code.BAD_REQUEST, "frame", reason)


def shown(value: str) -> str:
    """The value as an error message quotes it: its beginning, when it is long."""
    if len(value) <= SHOWN_VALUE_CHARACTERS:
        return value
    return f"{value[:SHOWN_VALUE_CHARACTERS]}…"
