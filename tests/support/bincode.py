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
    "Failed",
)

Layout = dict[str, Kind]


def record(layout: Layout) -> Kind:
    return Kind(
        lambda values: b"".join(kind.write(values.get(name, kind.default)) for name, kind in layout.items()),
        lambda data: {name: kind.read(data) for name, kind in layout.items()},
        None,
    )


Extras = tuple[tuple[str, tuple[Kind, ...]], ...]

# By number: the field of JSON, and the values that follow the number.
EXTRAS: Extras = (
    ("headers", (TEXT, TEXT)),
    ("group", (TEXT,)),
    ("unique", (TEXT,)),
    ("duplicate", ()),
    ("attempt", (U32,)),
    ("left", (U32,)),
    ("work_timeout", (F64,)),
    ("final", ()),
)
QUEUE_EXTRAS: Extras = (
    ("group_in_flight", (U32,)),
    ("max_in_flight", (U32,)),
    ("rate", (F64,)),
    ("burst", (F64,)),
    ("keep_replies", (F64,)),
)


def _write_extras(extras: Fields) -> bytes:
    numbers = {name: (number, kinds) for number, (name, kinds) in enumerate(EXTRAS)}
    written = [
        U32.write(numbers[name][0])
        + b"".join(kind.write(value) for kind, value in zip(numbers[name][1], values, strict=False))
        for name, given in extras.items()
        for values in (given.items() if isinstance(given, dict) else [[given]])
    ]
    return U64.write(len(written)) + b"".join(written)


def _read_extras(data: BytesIO, known: Extras) -> Fields:
    extras: Fields = {}
    for _ in range(U64.read(data)):
        name, kinds = known[U32.read(data)]
        values = [kind.read(data) for kind in kinds]
        if name == "headers":
            extras.setdefault(name, {})[values[0]] = values[1]
        else:
            extras[name] = values[0] if values else True
    return extras


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
    "keepalive": (
        5,
        {
            "queue": option(TEXT),
            "sequence": option(U64),
            "shard": option(U64),
            "index": option(U64),
            "label": option(U64),
        },
    ),
    "release": (
        22,
        {
            "messages": vector(record({**CLAIM, "attempt": option(U32)})),
            "label": U64,
            "response": option(choice(*STAGES)),
        },
    ),
    "workerror": (
        23,
        {
            "work_request_identifier": TEXT,
            "error": TEXT,
            "final": option(BOOL),
            "time": F64,
            "config_version": TEXT,
        },
    ),
    "cancel": (24, {"queue": TEXT, "shard": U64, "index": U64, "label": U64}),
}
WITH_EXTRAS = {"post": 17, "finish": 19, "fail": 20, "keepalive": 21}

QUEUE_IDENTITY: Layout = {"name": TEXT, "tags": TEXTS, "shard": U64}
CLOCK: Layout = {"time": F64, "config_version": TEXT}

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
    (
        "queue",
        {
            "label": U64,
            **QUEUE_IDENTITY,
            "kind": choice("work", "stream"),
            "created": BOOL,
            "retry_limit": option(U32),
            "heartbeat_timeout": F64,
            "retry_delay": F64,
            "retry_backoff": F64,
            "retry_delay_max": F64,
            "max_length": option(U64),
            "overflow": choice("reject", "drop_oldest"),
            "updatable": BOOL,
            "paused": BOOL,
            "retention_seconds": option(F64),
            "retention_count": option(U64),
            "retention_acked": BOOL,
            "keep_bodies": BOOL,
        },
    ),
    ("subscribed", {"label": U64, "queues": vector(record(QUEUE_IDENTITY))}),
    (
        "registered",
        {
            "label": U64,
            "name": TEXT,
            "persistent": BOOL,
            "defined_at": TEXT,
            "subscribed_to": vector(
                record({"name": TEXT, "tags": TEXTS, "acked_index": U64, "outstanding_index": vector(U64)})
            ),
        },
    ),
    ("config", {"config_type": choice("JSON", "XML", "ZFL"), "config_version": TEXT, "config": option(TEXT)}),
    ("readyok", CLOCK),
    ("pong", CLOCK),
    ("workrequest", {"work_request_identifier": TEXT, "service": TEXT, "body": BYTES, **CLOCK}),
    ("workreply", {"label": U64, "work_request_identifier": TEXT, "body": BYTES}),
    ("changebroker", {"node": TEXT, "url": TEXT}),
    ("disconnecterror", {"code": U32, "message": TEXT}),
    ("forcenegotiate", {}),
    ("ping", CLOCK),
)


FRAMES_WITH_EXTRAS = {17: "message", 18: "notice", 19: "queue"}


def encode(command: Fields) -> bytes:
    """With extras, where the command has fields that only they can hold."""
    variant, layout = COMMANDS[command["type"]]
    values = b"".join(kind.write(command.get(name, kind.default)) for name, kind in layout.items())
    extras = {name: value for name, value in command.items() if name not in layout and name in dict(EXTRAS)}
    if not extras:
        return U32.write(variant) + values
    return U32.write(WITH_EXTRAS[command["type"]]) + values + _write_extras(extras)


def decode(data: bytes) -> list[Fields]:
    """All frames of one WebSocket frame; options that are absent are left out, as in JSON."""
    reader, frames = BytesIO(data), []
    while reader.tell() < len(data):
        number = U32.read(reader)
        name = FRAMES_WITH_EXTRAS.get(number) or FRAMES[number][0]
        values = {field: kind.read(reader) for field, kind in dict(FRAMES)[name].items()}
        if number in FRAMES_WITH_EXTRAS:
            values |= _read_extras(reader, QUEUE_EXTRAS if name == "queue" else EXTRAS)
        frames.append({"type": name, **{field: value for field, value in values.items() if value is not None}})
    return frames
