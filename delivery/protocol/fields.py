"""The types that the fields of commands and frames have: their rules, and their width in bincode.

Ranges and lengths are declared, and msgspec holds to them while it decodes. What it cannot declare is
checked by the functions at the end, which the commands call once their fields are set:
- ASCII and NUL characters, because one `Meta(pattern=...)` doubles the time of a decode, and with it the
  interpreter crashed on exit in 7 of 25 runs (without it in none; compare msgspec issue 717);
- the upper end of unsigned 64 bit integers, because the bounds of `Meta` are signed.
"""

import re
import reprlib
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from delivery.protocol.errors import refused_value
from queues.integer_ranges import BIGINT_MAX as BIGINT_MAX
from queues.integer_ranges import INTEGER_MAX as INTEGER_MAX

U32_MAX = 2**32 - 1
U64_MAX = 2**64 - 1
TEN_YEARS_SECONDS = 10 * 365 * 86_400
END_OF_YEAR_9999_UNIX_SECONDS = 253_402_300_799

NAME_RULE = "a name of 1 to 200 printable ASCII characters"
QUEUES_RULE = f"{NAME_RULE}, or a list of 1 to 64 such names"
TAGS_RULE = "a list of at most 64 tags, each a text of 1 to 200 characters without NUL"
BODY_RULE = 'a text, a list of byte values from 0 to 255, or {"base64": "..."} with padding'
U64_RULE = f"a whole number from 0 to {U64_MAX}"
SHORT_TEXT_RULE = "a text of 1 to 500 characters without NUL"
ERROR_TEXT_RULE = "a text of at most 10000 characters without NUL"
CONFIG_VERSION_RULE = "a text of at most 500 characters without NUL"
GROUPING_RULE = "a text of 1 to 200 characters without NUL"

MOST_HEADERS = 64
MOST_HEADER_VALUE_BYTES = 4096
MOST_HEADER_BYTES = 16 * 1024  # names and values of one message together
MOST_CLAIMS = 10_000  # that one command names: as many as a fetch can bring
HEADERS_RULE = (
    "an object of at most 64 texts by name, 16384 bytes in all: names of 1 to 128 characters of a-z 0-9 - _ . "
    "that do not begin with willow-, values of at most 4096 bytes without NUL"
)


class Wire(Enum):
    """How a field is written in bincode where its Python type alone does not say it."""

    U32 = "u32"
    U64 = "u64"
    BYTES = "a body: Vec<u8>"
    NAMES = "Vec<String>, though JSON may give one name"
    LABEL_OR_ZERO = "u64, 0 for none"
    START = "an enum: new, oldest, or an index (u64)"
    STAGE = "any stage can be read, though not all are allowed"
    WITHOUT_OPTION = "written plainly, though JSON may leave the field out"
    EXTRA = "one of the extras that follow a command or frame (bincode/extras.py)"
    JSON_ONLY = "not in bincode, which says the same in another way or not at all"


Stage = Literal["ready", "write", "sync", "assign", "finish", "retry", "drop", "keepalive"]
NotifyStage = Annotated[Literal["ready", "write", "sync", "assign", "finish", "retry", "drop"], Wire.STAGE]
Persistence = Annotated[Literal["ready", "write", "sync"], Wire.STAGE]
Match = Literal["all", "exact", "strict", "combined", "any"]
Kind = Literal["work", "stream"]
Overflow = Literal["reject", "drop_oldest"]
ConfigType = Literal["JSON", "XML", "ZFL"]

Name = Annotated[str, Meta(min_length=1, max_length=200, description=NAME_RULE)]
Tag = Annotated[str, Meta(min_length=1, max_length=200)]
Tags = Annotated[tuple[Tag, ...], Meta(max_length=64, description=TAGS_RULE)]
ShortText = Annotated[str, Meta(min_length=1, max_length=500, description=SHORT_TEXT_RULE)]
# Empty, or left out in JSON: of a worker that has no configuration yet.
ConfigVersion = Annotated[str, Meta(max_length=500, description=CONFIG_VERSION_RULE), Wire.WITHOUT_OPTION]
ErrorText = Annotated[str, Meta(max_length=10_000, description=ERROR_TEXT_RULE)]
GroupingText = Annotated[str, Meta(min_length=1, max_length=200, description=GROUPING_RULE)]
Headers = Annotated[dict[str, str], Meta(description=HEADERS_RULE)]
Services = Annotated[tuple[Name, ...], Meta(max_length=256, description="a list of at most 256 service names")]
WorkerServices = Annotated[
    tuple[Name, ...], Meta(min_length=1, max_length=256, description="a list of 1 to 256 service names")
]

U32 = Annotated[int, Meta(ge=0, le=U32_MAX, description=f"a whole number from 0 to {U32_MAX}"), Wire.U32]
U64 = Annotated[int, Meta(ge=0, description=U64_RULE), Wire.U64]
Label = Annotated[U64 | None, Wire.LABEL_OR_ZERO]
StartAt = Annotated[
    Literal["new", "oldest"] | U64,
    Meta(description=f"new, oldest, or an index: {U64_RULE}"),
    Wire.START,
]
Count = Annotated[int, Meta(ge=1, le=10_000, description="a whole number from 1 to 10000"), Wire.U32]
InFlight = Annotated[int, Meta(ge=1, le=65_535, description="a whole number from 1 to 65535"), Wire.U32]
RetryLimit = Annotated[int, Meta(ge=0, le=INTEGER_MAX, description=f"a whole number from 0 to {INTEGER_MAX}"), Wire.U32]
Amount = Annotated[int, Meta(ge=1, le=BIGINT_MAX, description=f"a whole number from 1 to {BIGINT_MAX}"), Wire.U64]

GroupLimit = Annotated[int, Meta(ge=1, le=INTEGER_MAX, description=f"a whole number from 1 to {INTEGER_MAX}"), Wire.U32]
Rate = Annotated[float, Meta(ge=1e-9, le=1_000_000, description="messages a second, from 0.000000001 to 1000000")]
Burst = Annotated[float, Meta(ge=1, le=1_000_000, description="a number of messages from 1 to 1000000")]

Seconds = Annotated[float, Meta(ge=0, le=TEN_YEARS_SECONDS, description="seconds from 0 to 10 years (315360000)")]
PositiveSeconds = Annotated[
    float, Meta(gt=0, le=TEN_YEARS_SECONDS, description="seconds above 0, up to 10 years (315360000)")
]
Backoff = Annotated[float, Meta(ge=1, le=100, description="a factor from 1 to 100")]
UnixSeconds = Annotated[float, Meta(ge=0, le=END_OF_YEAR_9999_UNIX_SECONDS, description="a time in unix seconds")]


class Base64Body(Struct, frozen=True, gc=False):
    """A body as a JSON object holds it; msgspec decodes the text into bytes."""

    base64: bytes


_Byte = Annotated[int, Meta(ge=0, le=255)]

if TYPE_CHECKING:
    Body = bytes
    QueueNames = tuple[str, ...]
else:
    # As JSON brings them; the commands turn them into what the type checker sees. A list of anything but byte values
    # is refused at its first item: taken as it is, 32 MB of empty objects would need gigabytes and half a minute.
    Body = Annotated[str | Base64Body | list[_Byte], Meta(description=BODY_RULE), Wire.BYTES]
    QueueNames = Annotated[
        Name | Annotated[tuple[Name, ...], Meta(min_length=1, max_length=64)],
        Meta(description=QUEUES_RULE),
        Wire.NAMES,
    ]


def check_name(key: str, name: str) -> None:
    if not (name.isascii() and name.isprintable()):
        raise refused_value(key, NAME_RULE, reprlib.repr(name))


def check_names(key: str, names: tuple[str, ...]) -> None:
    for name in names:
        check_name(key, name)


def check_tags(tags: tuple[str, ...]) -> None:
    if "\0" in "".join(tags):
        raise refused_value("tags", TAGS_RULE, reprlib.repr(tags))


def check_text(key: str, rule: str, text: str | None) -> None:
    """PostgreSQL's text columns cannot hold NUL."""
    if text is not None and "\0" in text:
        raise refused_value(key, rule, reprlib.repr(text))


def check_u64(key: str, number: int | None) -> None:
    if number is not None and number > U64_MAX:
        raise refused_value(key, U64_RULE, reprlib.repr(number))


def queue_names(given: str | tuple[str, ...]) -> tuple[str, ...]:
    """The names of a post: one or several, each once."""
    if isinstance(given, str):
        check_name("queue", given)
        return (given,)
    check_names("queue", given)
    return given if len(given) == 1 else tuple(dict.fromkeys(given))


def body_bytes(key: str, body: Any) -> bytes:
    """A body as bytes, from one of the forms that JSON has for it."""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, Base64Body):
        return body.base64
    if isinstance(body, list):
        return bytes(body)
    if isinstance(body, bytes):  # of a command that was made here
        return body
    raise refused_value(key, BODY_RULE, reprlib.repr(body))


_is_header_name = re.compile(r"(?!willow-)[a-z0-9._-]{1,128}").fullmatch


def check_headers(headers: dict[str, str]) -> None:
    if len(headers) > MOST_HEADERS:
        raise refused_value("headers", HEADERS_RULE, f"{len(headers)} headers")
    total_bytes = 0
    for name, value in headers.items():
        value_bytes = len(value.encode())
        if not _is_header_name(name) or value_bytes > MOST_HEADER_VALUE_BYTES or "\0" in value:
            raise refused_value("headers", HEADERS_RULE, reprlib.repr({name: value}))
        total_bytes += len(name) + value_bytes
    if total_bytes > MOST_HEADER_BYTES:
        raise refused_value("headers", HEADERS_RULE, f"{len(headers)} headers of {total_bytes} bytes")
