"""bincode as section 8 of the protocol describes it, read without a look at the broker's own codec."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

Fields = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """How values of one type are written and read, and what stands for one that a command leaves out."""

    write: Callable[[Any], bytes]
    read: Callable[[BytesIO], Any]
    default: Any


def number(format: str) -> Kind:
    packed = struct.Struct(f"<{format}")
    return Kind(packed.pack, lambda data: packed.unpack(data.read(packed.size))[0], 0)


def vector(item: Kind) -> Kind:
    return Kind(
        lambda values: U64.write(len(values)) + b"".join(map(item.write, values)),
        lambda data: [item.read(data) for _ in range(U64.read(data))],
        (),
    )


def option(value: Kind) -> Kind:
    return Kind(
        lambda given: b"\0" if given is None else b"\1" + value.write(given),
        lambda data: value.read(data) if data.read(1) == b"\1" else None,
        None,
    )


def choice(*names: str, default: str | None = None) -> Kind:
    return Kind(lambda name: U32.write(names.index(name)), lambda data: names[U32.read(data)], default)


U32, U64, F64, BOOL = number("I"), number("Q"), number("d"), number("?")
BYTES = Kind(lambda value: U64.write(len(value)) + value, lambda data: data.read(U64.read(data)), b"")
TEXT = Kind(lambda text: BYTES.write(text.encode()), lambda data: BYTES.read(data).decode(), "")
TEXTS = vector(TEXT)
STAGES = ("ready", "write", "sync", "assign", "finish", "retry", "drop", "keepalive")
MATCH = choice("all", "exact", "strict", "combined", "any")
CODE = choice(
    "NoObject",
    "ObjectAlreadyExists",
    "PermissionDenied",
    "BadRequest",
    "TooLarge",
    "Overloaded",
    "Unavailable",
)

Layout = dict[str, Kind]
CLAIM: Layout = {"queue": TEXT, "sequence": U64, "shard": U64, "index": option(U64)}

COMMANDS: dict[str, tuple[int, Layout]] = {
    "post": (
        0,
        {
            "queue": TEXTS,
            "tags": TEXTS,
            "message": BYTES,
            "priority": U32,
            "label": U64,
            "notify": vector(choice(*STAGES)),
            "key": option(TEXT),
            "delay": option(F64),
            "ttl": option(F64),
            "dedupe": option(TEXT),
        },
    ),
    "pop": (
        1,
        {
            "queue": TEXT,
            "tags": TEXTS,
            "match": option(MATCH),
            "timeout": option(F64),
            "count": option(U32),
            "label": U64,
        },
    ),
    "fetch": (
        2,
        {
            "queue": TEXT,
            "tags": TEXTS,
            "match": option(MATCH),
            "block_timeout": F64,
            "work_timeout": option(F64),
            "sync": choice(*STAGES, default="write"),
            "count": option(U32),
            "label": U64,
        },
    ),
    "finish": (
        3,
        {**CLAIM, "label": option(U64), "response": option(choice(*STAGES)), "reply": option(BYTES)},
    ),
    "fail": (
        4,
        {
            **CLAIM,
            "label": option(U64),
            "response": option(choice(*STAGES)),
            "error": option(TEXT),
            "delay": option(F64),
        },
    ),
    "pong": (16, {"time": F64, "config_version": TEXT}),
}

FRAMES: tuple[tuple[str, Layout], ...] = (
    ("hello", {"id": TEXT, "node": TEXT, "version": TEXT}),
    (
        "notice",
        {
            "label": U64,
            "notice": choice(*STAGES),
            "shard": option(U64),
            "sequence": option(U64),
            "index": option(U64),
            "queue": option(TEXT),
            "reply": option(BYTES),
        },
    ),
    (
        "message",
        {
            "label": U64,
            "shard": U64,
            "sequence": U64,
            "body": BYTES,
            "finished": BOOL,
            "queue": TEXT,
            "tags": TEXTS,
            "index": U64,
            "attempt": U32,
            "priority": U32,
        },
    ),
    ("nomessage", {"label": U64}),
    ("error", {"label": option(U64), "code": CODE, "key": TEXT, "message": TEXT}),
)


def encode(command: Fields) -> bytes:
    variant, layout = COMMANDS[command["type"]]
    values = (kind.write(command.get(name, kind.default)) for name, kind in layout.items())
    return U32.write(variant) + b"".join(values)


def decode(data: bytes) -> list[Fields]:
    """All frames of one WebSocket frame; options that are absent are left out, as in JSON."""
    reader, frames = BytesIO(data), []
    while reader.tell() < len(data):
        name, layout = FRAMES[U32.read(reader)]
        values = {field: kind.read(reader) for field, kind in layout.items()}
        frames.append({"type": name, **{field: value for field, value in values.items() if value is not None}})
    return frames
