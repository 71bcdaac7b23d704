"""The frames that this client understands, as JSON."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from willow_client.bodies import WireBody


class Frame(Struct, gc=False, frozen=True, tag=str.lower, tag_field="type"):
    """What the broker sends."""


class Hello(Frame, frozen=True):
    id: str
    node: str = ""
    label: None = None


class Notice(Frame, frozen=True):
    """A stage of a posted message, or that a claim ended, or goes on."""

    label: int | None
    notice: str
    shard: int | None = None
    sequence: int | None = None
    index: int | None = None
    queue: str | None = None
    reply: WireBody | None = None
    duplicate: bool = False


class Delivery(Frame, frozen=True, tag="message"):
    label: int | None
    shard: int
    sequence: int
    body: WireBody
    finished: bool
    queue: str
    tags: tuple[str, ...]
    index: int
    attempt: int
    priority: int
    work_timeout: float | None = None  # seconds that the claim lasts without a keepalive
    left: int | None = None  # how many more messages of the same answer follow, if it may be several
    headers: dict[str, str] = {}
    group: str | None = None


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
    group_in_flight: int | None = None
    max_in_flight: int | None = None
    rate: float | None = None
    burst: float | None = None
    keep_replies: float | None = None


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
    body: WireBody


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
    body: WireBody
    work_timeout: float | None = None  # seconds that it is this worker's without a keepalive
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

_decoder: msgspec.json.Decoder[AnyFrame | list[AnyFrame]] = msgspec.json.Decoder(AnyFrame | list[AnyFrame])
_raw_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


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
