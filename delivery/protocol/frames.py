"""Every frame of the server, as a frozen value.

The order of a struct's fields is their order in bincode; fields marked as extras follow behind, in the variants with
extras (`variants.py`). A field that has a default is left out in JSON when it has that value. Fields without a default
are always written, `null` included.
"""

from typing import Annotated

from msgspec import Struct

from delivery.protocol.errors import Code
from delivery.protocol.fields import U32, U64, Body, ConfigType, Kind, Label, Overflow, Stage, Wire


# gc=False: as with commands.
class Frame(Struct, frozen=True, gc=False, omit_defaults=True, tag=str.lower, tag_field="type"):
    """What the server sends."""


class Hello(Frame, frozen=True):
    id: str
    node: str
    version: str


class Notice(Frame, frozen=True):
    label: Label
    notice: Stage
    shard: U64 | None = None
    sequence: U64 | None = None
    index: U64 | None = None
    queue: str | None = None
    reply: Body | None = None
    duplicate: Annotated[bool, Wire.EXTRA] = False


class Message(Frame, frozen=True):
    label: Label
    shard: U64
    sequence: U64
    body: Body
    finished: bool
    queue: str
    tags: tuple[str, ...]
    index: U64
    attempt: U32
    priority: U32
    headers: Annotated[dict[str, str] | None, Wire.EXTRA] = None
    group: Annotated[str | None, Wire.EXTRA] = None
    left: Annotated[U32 | None, Wire.EXTRA] = None
    work_timeout: Annotated[float | None, Wire.EXTRA] = None


class NoMessage(Frame, frozen=True):
    label: Label


class Error(Frame, frozen=True):
    label: U64 | None
    code: Code
    key: str
    message: str


class QueueInfo(Frame, frozen=True, tag="queue"):
    label: Label
    name: str
    tags: tuple[str, ...]
    shard: U64
    kind: Kind
    created: bool
    retry_limit: U32 | None
    heartbeat_timeout: float
    retry_delay: float
    retry_backoff: float
    retry_delay_max: float
    max_length: U64 | None
    overflow: Overflow
    updatable: bool
    paused: bool
    retention_seconds: float | None
    retention_count: U64 | None
    retention_acked: bool
    keep_bodies: bool
    group_in_flight: Annotated[U32 | None, Wire.EXTRA] = None
    max_in_flight: Annotated[U32 | None, Wire.EXTRA] = None
    rate: Annotated[float | None, Wire.EXTRA] = None
    burst: Annotated[float | None, Wire.EXTRA] = None
    keep_replies: Annotated[float | None, Wire.EXTRA] = None


class QueueIdentity(Struct, frozen=True, gc=False):
    """One queue of a `subscribed` frame."""

    name: str
    tags: tuple[str, ...]
    shard: U64


class Subscribed(Frame, frozen=True):
    label: Label
    queues: tuple[QueueIdentity, ...]


class SubscriptionRecord(Struct, frozen=True, gc=False):
    """One subscription of a `registered` frame."""

    name: str
    tags: tuple[str, ...]
    acked_index: U64
    outstanding_index: tuple[U64, ...]


class Registered(Frame, frozen=True):
    label: Label
    name: str
    persistent: bool
    defined_at: str
    subscribed_to: tuple[SubscriptionRecord, ...]


class Config(Frame, frozen=True):
    config_type: ConfigType
    config_version: str
    config: str | None


class ReadyOk(Frame, frozen=True):
    time: float
    config_version: str


class Pong(Frame, frozen=True):
    time: float
    config_version: str


class WorkRequestOut(Frame, frozen=True, tag="workrequest"):
    work_request_identifier: str
    service: str
    body: Body
    time: float
    config_version: str
    work_timeout: Annotated[float | None, Wire.JSON_ONLY] = None


class WorkReplyOut(Frame, frozen=True, tag="workreply"):
    label: Label
    work_request_identifier: str
    body: Body


class ChangeBroker(Frame, frozen=True):
    node: str
    url: str


class DisconnectError(Frame, frozen=True):
    code: U32
    message: str


class ForceNegotiate(Frame, frozen=True):
    pass


class ServerPing(Frame, frozen=True, tag="ping"):
    time: float
    config_version: str
