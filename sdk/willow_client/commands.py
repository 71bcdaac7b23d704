"""The commands that this client sends, as JSON."""

from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from willow_client.bodies import WireBody, not_text

Match: TypeAlias = Literal["all", "exact", "strict", "combined", "any"]
Persistence: TypeAlias = Literal["ready", "write", "sync"]
Stage: TypeAlias = Literal["ready", "write", "sync", "assign", "finish", "retry", "drop"]

MATCHES = ("all", "exact", "strict", "combined", "any")
PERSISTENCES = ("ready", "write", "sync")
STAGES = (*PERSISTENCES, "assign", "finish", "retry", "drop")


# gc=False: commands hold texts, numbers and tuples of them, which cannot form cycles.
class Command(Struct, gc=False, omit_defaults=True, kw_only=True, tag=str.lower, tag_field="type"):
    """`label` comes back in the answers; the connection gives each command one of its own."""

    label: int | None = None


class Post(Command):
    queue: str | tuple[str, ...]
    message: WireBody
    tags: tuple[str, ...] = ()
    priority: int = 0
    notify: tuple[str, ...] = ()
    key: str | None = None
    delay: float | None = None
    ttl: float | None = None
    dedupe: str | None = None
    headers: dict[str, str] | None = None
    group: str | None = None
    unique: str | None = None


class Cancel(Command):
    queue: str
    shard: int
    index: int


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


class ClaimId(Struct, gc=False):
    """Which attempt of which message: a late word of an earlier one touches nothing."""

    queue: str
    shard: int
    sequence: int
    index: int
    attempt: int


class ClaimCommand(Command):
    queue: str
    shard: int
    sequence: int
    index: int
    attempt: int | None = None  # None only for requests, which do not tell theirs


class Finish(ClaimCommand):
    response: Persistence | None = None
    reply: WireBody | None = None


class Fail(ClaimCommand):
    response: Persistence | None = None
    error: str | None = None
    delay: float | None = None
    final: bool = False  # no further attempt


class Keepalive(ClaimCommand):
    pass


class Release(Command):
    messages: tuple[ClaimId, ...]
    response: Persistence | None = None


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
    group_in_flight: int | None = None
    max_in_flight: int | None = None
    rate: float | None = None
    burst: float | None = None
    keep_replies: float | None = None


class Subscribe(Command):
    queue: str
    tags: tuple[str, ...] = ()
    match: Match | None = None
    in_flight: int = 16
    work_timeout: float | None = None
    from_: Literal["new", "oldest"] | int | None = field(default=None, name="from")


class Unsubscribe(Command):
    """Its label is that of the subscription."""

    forget: bool = False


class Register(Command):
    name: str
    persistent: bool


class WorkRequest(Command):
    service: str
    body: WireBody
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
    body: WireBody
    time: float
    config_version: str


class WorkError(Command):
    work_request_identifier: str
    error: str
    final: bool
    time: float
    config_version: str


class NeedBroker(Command):
    identity: str
    services: tuple[str, ...]


_encode = msgspec.json.Encoder().encode


def encode(command: Command) -> bytes:
    try:
        return _encode(command)
    except UnicodeEncodeError as error:
        raise not_text(_field_of(command, error.object), error) from None


def _field_of(command: Command, text: str) -> str:
    """Which field the text that cannot be encoded stands in."""
    for name in command.__struct_fields__:
        value = getattr(command, name)
        if value == text or (isinstance(value, tuple) and text in value):
            return name.rstrip("_")
    return "message"
