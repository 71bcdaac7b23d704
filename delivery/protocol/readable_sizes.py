"""How large the frame becomes in which a client that reads JSON gets a body.

Text can grow to six times its size there (a NUL is written as \\u0000), other bytes to four times (255 and a comma).
Where that is too large, the body is sent as base64; a body for which that is too large as well is refused when it is
posted. Otherwise nobody could ever read it as JSON, and it would be retried to death.
"""

from typing import Any

import msgspec

# Field names, numbers, queue name and brackets of a frame: what is not the choice of the poster, at its largest.
FIXED_BYTES = 768
# That, and the largest tags, headers and group, each character as an escape.
MOST_BESIDE_BODY_BYTES = 256 * 1024

_ONE_DIGIT, _TWO_DIGITS = bytes(range(10)), bytes(range(10, 100))


def base64_bytes(body_bytes: int) -> int:
    """Of a body as `{"base64": "..."}`."""
    return 4 * -(-body_bytes // 3) + len('{"base64":""}')


def array_bytes(body: bytes) -> int:
    """Of a body as a list of numbers."""
    one_digit = len(body) - len(body.translate(None, _ONE_DIGIT))
    two_digits = len(body) - len(body.translate(None, _TWO_DIGITS))
    return 4 * len(body) - 2 * one_digit - two_digits + len("[]")


def fits_json_reader(command: Any, body: bytes, most_bytes: int) -> bool:
    """Whether some form of the body leaves room for the rest of the frame that it is read in."""
    chosen = (getattr(command, "tags", ()), getattr(command, "headers", None), getattr(command, "group", None))
    room = most_bytes - FIXED_BYTES - len(msgspec.json.encode(chosen))
    return base64_bytes(len(body)) <= room or _text_bytes(body) <= room


def _text_bytes(body: bytes) -> float:
    """Of a body as a string; endless if it is no text."""
    try:
        return len(msgspec.json.encode(body.decode()))
    except UnicodeDecodeError:
        return float("inf")
