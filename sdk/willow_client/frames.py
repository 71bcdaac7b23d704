"""The commands that this client sends and the frames that it understands, as JSON."""

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

Match: TypeAlias = Literal["all", "exact", "strict", "combined", "any"]
Persistence: TypeAlias = Literal["ready", "write", "sync"]
JsonBody: TypeAlias = str | list[int]


# gc=False: commands and frames hold texts, numbers and tuples of them, which cannot form cycles.
class Command(Struct, gc=False, omit_defaults=True, kw_only=True, tag=str.lower, tag_field="type"):
    """`label` comes back in the answers; the connection gives each command one of its own."""

    label: int | None = None


class Post(Command):
    queue: str | tuple[str, ...]
    message: JsonBody
    tags: tuple[str, ...] = ()
    priority: int = 0
    notify: tuple[Persistence, ...] = ()
    key: str | None = None
    delay: float | None = None
    ttl: float | None = None
    dedupe: str | None = None


class Pop(Command):
    queue: str
    tags: tuple[str, ...] = ()
    match: Match | None = None
    timeout: float = 0.0
    count: int | None = None


class Fetch(Command):
    queue: str
    tags: tuple[str, ...] = ()
    match: Match | None = None
    block_timeout: float = 0.0
    work_timeout: float | None = None
    sync: Persistence = "write"
    count: int | None = None


class Finish(Command):
    queue: str
    shard: int
    sequence: int
    index: int
    response: Persistence | None = None
    reply: JsonBody | None = None


class Fail(Command):
    queue: str
    shard: int
    sequence: int
    index: int
    response: Persistence | None = None
    error: str | None = None
    delay: float | None = None


class Keepalive(Command):
    queue: str
    shard: int
    sequence: int
    index: int


class Create(Command):
    queue: str
    tags: tuple[str, ...] = ()
    kind: Literal["work", "stream"] | None = None
    retry_limit: int | None = None
    heartbeat_timeout: float | None = None
    retry_delay: float | None = None
    retry_backoff: float | None = None
    retry_delay_max: float | None = None
    max_length: int | None = None
    overflow: Literal["reject", "drop_oldest"] | None = None
    updatable: bool | None = None
    retention_seconds: float | None = None
    retention_count: int | None = None
    retention_acked: bool | None = None
    keep_bodies: bool | None = None


class Subscribe(Command):
    queue: str
    tags: tuple[str, ...] = ()
    match: Match | None = None
    in_flight: int = 16
    work_timeout: float | None = None
    from_: Literal["new", "oldest"] | int | None = field(default=None, name="from")


class Unsubscribe(Command):
    """Its label is that of the subscription."""


class Register(Command):
    name: str
    persistent: bool


class WorkRequest(Command):
    service: str
    body: JsonBody
    timeout: float | None = None


class CheckConfig(Command):
    identity: str
    services: tuple[str, ...]
    config_type: Literal["JSON"]
    config_version: str | None = None


class Ready(Command):
    services: tuple[str, ...]
    heartbeat_interval: float
    slots: int
    time: float
    config_version: str


class Ping(Command):
    time: float
    config_version: str


class Reply(Command, tag="workreply"):
    work_request_identifier: str
    body: JsonBody
    time: float
    config_version: str


class NeedBroker(Command):
    identity: str
    services: tuple[str, ...]


class Frame(Struct, gc=False, frozen=True, tag=str.lower, tag_field="type"):
    """What the broker sends."""


class Hello(Frame, frozen=True):
    id: str
    node: str = ""
    label: None = None


class Notice(Frame, frozen=True):
    label: int | None
    notice: str
    shard: int | None = None
    sequence: int | None = None
    index: int | None = None
    queue: str | None = None


class Delivery(Frame, frozen=True, tag="message"):
    label: int | None
    shard: int
    sequence: int
    body: JsonBody
    finished: bool
    queue: str
    tags: tuple[str, ...]
    index: int
    attempt: int
    priority: int


class NoMessage(Frame, frozen=True):
    label: int | None


class Error(Frame, frozen=True):
    label: int | None
    code: str
    key: str
    message: str = ""


class Queue(Frame, frozen=True):
    """A queue with its settings. `created` says whether it came to be by this command."""

    label: int | None
    name: str
    tags: tuple[str, ...]
    shard: int
    kind: str
    created: bool
    retry_limit: int | None = None
    heartbeat_timeout: float | None = None
    retry_delay: float | None = None
    retry_backoff: float | None = None
    retry_delay_max: float | None = None
    max_length: int | None = None
    overflow: str | None = None
    updatable: bool = False
    paused: bool = False
    retention_seconds: float | None = None
    retention_count: int | None = None
    retention_acked: bool = False
    keep_bodies: bool = False


class Subscribed(Frame, frozen=True):
    label: int | None


class SubscriptionRecord(Struct, gc=False, frozen=True):
    """How far a registered client has come in one queue."""

    name: str
    tags: tuple[str, ...]
    acked_index: int
    outstanding_index: tuple[int, ...]


class Registration(Frame, frozen=True, tag="registered"):
    """The broker's record of a registered client."""

    label: int | None
    name: str
    persistent: bool
    defined_at: str
    subscribed_to: tuple[SubscriptionRecord, ...]


class WorkReply(Frame, frozen=True):
    label: int | None
    body: JsonBody


class Config(Frame, frozen=True):
    """`config` is None if the worker has this version already."""

    config_version: str
    config: str | None
    label: None = None


class ReadyOk(Frame, frozen=True):
    label: None = None


class ServerPing(Frame, frozen=True, tag="ping"):
    label: None = None


class Pong(Frame, frozen=True):
    label: None = None


class Assignment(Frame, frozen=True, tag="workrequest"):
    """A request that this client, as a worker, is given."""

    work_request_identifier: str
    service: str
    body: JsonBody
    label: None = None


class ChangeBroker(Frame, frozen=True):
    node: str
    url: str
    label: None = None


class DisconnectError(Frame, frozen=True):
    code: int
    message: str
    label: None = None


class ForceNegotiate(Frame, frozen=True):
    label: None = None


AnyFrame: TypeAlias = (
    Hello | Notice | Delivery | NoMessage | Error | Queue | Subscribed | Registration | WorkReply
    | Config | ReadyOk | ServerPing | Pong | Assignment | ChangeBroker | DisconnectError | ForceNegotiate
)  # fmt: skip

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyFrame | list[AnyFrame]] = msgspec.json.Decoder(AnyFrame | list[AnyFrame])
_raw_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

encode = _encoder.encode


def decode(text: bytes) -> list[AnyFrame]:
    """The frames in a text, in their order."""
    try:
        decoded = _decoder.decode(text)
    except msgspec.ValidationError:
        return list(_understood(_raw_decoder.decode(text)))
    return decoded if isinstance(decoded, list) else [decoded]


def _understood(decoded: Any) -> Iterator[AnyFrame]:
    """A newer broker may send frames that this client does not know; they concern none of its commands."""
    for value in decoded if isinstance(decoded, list) else [decoded]:
        try:
            yield msgspec.convert(value, AnyFrame)
        except msgspec.ValidationError:
            continue


def to_json_body(body: bytes | str) -> JsonBody:
    """A body as JSON carries it: a text, or byte values where it is not UTF-8."""
    if isinstance(body, str):
        return body
    if not isinstance(body, bytes | bytearray):
        raise TypeError(f"A body is bytes or a text, not {type(body).__name__}.")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return list(body)


def from_json_body(body: JsonBody) -> bytes:
    return body.encode() if isinstance(body, str) else bytes(body)
