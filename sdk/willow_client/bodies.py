"""Bodies are bytes. In JSON they travel as text where they are UTF-8, and as base64 where they are not."""

import json
from typing import Any, TypeAlias

from msgspec import Struct

from willow_client.errors import BadArgument, TooLarge

Body: TypeAlias = bytes | bytearray | memoryview | str

MOST_BODY_BYTES = 16 * 1024 * 1024  # of a broker whose operator did not set it otherwise
# JSON may need six characters for one of a text, and base64 never more than four for three: what is larger than this
# travels as base64, so that a body that is small enough never makes a frame that is too large.
LARGEST_TEXT = 4 * 1024 * 1024  # bytes
LONGEST_PREVIEW = 40  # characters, in a repr


class Base64(Struct, gc=False):
    """msgspec reads and writes bytes as base64."""

    base64: bytes


WireBody: TypeAlias = str | Base64


def to_wire(field: str, body: Body, most_bytes: int = MOST_BODY_BYTES) -> WireBody:
    if isinstance(body, str):
        if 4 * len(body) <= LARGEST_TEXT:  # no character needs more than four bytes
            return body
        return _from_bytes(check_is_text(field, body), most_bytes)
    if isinstance(body, bytes | bytearray | memoryview):
        return _from_bytes(bytes(body), most_bytes)
    remedy = "Write json.dumps(…) for other values."
    raise BadArgument(field, f"`{field}` must be bytes or a text, not {type(body).__name__}. {remedy}")


def check_size(body: bytes, most_bytes: int = MOST_BODY_BYTES) -> None:
    if len(body) > most_bytes:
        remedy = "Post where it is stored instead; or say connect(max_body_bytes=…), if the broker takes more."
        raise TooLarge(
            "TooLarge", str(most_bytes), f"The body has {len(body)} bytes, {most_bytes} are allowed. {remedy}"
        )


def _from_bytes(body: bytes, most_bytes: int) -> WireBody:
    check_size(body, most_bytes)
    if len(body) <= LARGEST_TEXT:
        try:
            return body.decode()
        except UnicodeDecodeError:
            pass
    return Base64(body)


def check_is_text(field: str, text: str) -> bytes:
    """Returns its UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise not_text(field, error) from None


def not_text(field: str, error: UnicodeEncodeError) -> BadArgument:
    reason = f"`{field}` has half a surrogate pair at position {error.start}, which no UTF-8 can carry."
    return BadArgument(field, f"{reason} Replace it, or send bytes.")


def from_wire(body: WireBody) -> bytes:
    return body.encode() if isinstance(body, str) else body.base64


class WithBody:
    """What has a body: messages, requests, replies."""

    __slots__ = ("_body",)

    def __init__(self, body: WireBody) -> None:
        self._body = body

    @property
    def body(self) -> bytes:
        return from_wire(self.read())

    @property
    def text(self) -> str:
        body = self.read()
        return body if isinstance(body, str) else body.base64.decode()

    def json(self) -> Any:
        """The body, read as JSON."""
        body = self.read()
        return json.loads(body if isinstance(body, str) else body.base64)

    def read(self) -> WireBody:
        """For whoever looks into the body."""
        return self._body

    def _preview(self) -> str:
        body: str | bytes = self._body if isinstance(self._body, str) else self._body.base64
        return repr(body) if len(body) <= LONGEST_PREVIEW else f"{body[:LONGEST_PREVIEW]!r}… ({len(body)} long)"

    @property
    def wire_body(self) -> WireBody:
        return self._body
