"""Every command of a client and every frame of the server, as frozen values.

The order of a struct's fields is their order in bincode, and the order of COMMAND_VARIANTS and FRAME_VARIANTS gives
their numbers there. Fields marked as extras follow behind, in the variants with extras. A field that has a default may
be left out in JSON. Fields of frames that have none are always written, `null` included.
"""

from typing import Annotated, NamedTuple, get_type_hints

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from delivery.protocol.errors import Code, FrameError
from delivery.protocol.fields import (
    CONFIG_VERSION_RULE,
    ERROR_TEXT_RULE,
    GROUPING_RULE,
    MOST_CLAIMS,
    SHORT_TEXT_RULE,
    U32,
    U64,
    Amount,
    Backoff,
    Body,
    Burst,
    ConfigType,
    ConfigVersion,
    Count,
    ErrorText,
    GroupingText,
    GroupLimit,
    Headers,
    InFlight,
    Kind,
    Label,
    Match,
    Name,
    NotifyStage,
    Overflow,
    Persistence,
    PositiveSeconds,
    QueueNames,
    Rate,
    RetryLimit,
    Seconds,
    Services,
    ShortText,
    Stage,
    StartAt,
    Tags,
    UnixSeconds,
    Wire,
    WorkerServices,
    body_bytes,
    check_headers,
    check_name,
    check_names,
    check_tags,
    check_text,
    check_u64,
    queue_names,
)


# gc=False: commands and frames hold texts, numbers and tuples of them, which cannot form cycles.
class Command(Struct, frozen=True, gc=False, omit_defaults=True, tag=str.lower, tag_field="type"):
    """What a client sends."""


class Post(Command, frozen=True, kw_only=True):
    queues: QueueNames = field(name="queue")
    tags: Tags = ()
    message: Body
    priority: Annotated[U32, Wire.WITHOUT_OPTION] = 0
    label: Label = None
    notify: frozenset[NotifyStage] = frozenset()
    key: ShortText | None = None
    delay: Seconds | None = None
    ttl: Seconds | None = None
    dedupe: ShortText | None = None
    headers: Annotated[Headers | None, Wire.EXTRA] = None
    group: Annotated[GroupingText | None, Wire.EXTRA] = None
    unique: Annotated[GroupingText | None, Wire.EXTRA] = None

    def __post_init__(self) -> None:
        force_setattr(self, "queues", queue_names(self.queues))
        if self.tags:
            check_tags(self.tags)
        if not isinstance(self.message, bytes):
            force_setattr(self, "message", body_bytes("message", self.message))
        check_u64("label", self.label)
        if self.key is not None:
            check_text("key", SHORT_TEXT_RULE, self.key)
        if self.dedupe is not None:
            check_text("dedupe", SHORT_TEXT_RULE, self.dedupe)
        if self.headers is not None:
            check_headers(self.headers)
        if self.group is not None:
            check_text("group", GROUPING_RULE, self.group)
        if self.unique is not None:
            check_text("unique", GROUPING_RULE, self.unique)


class Pop(Command, frozen=True):
    queue: Name
    tags: Tags = ()
    match: Match | None = None
    timeout: Seconds | None = None
    count: Count | None = None
    label: Label = None

    def __post_init__(self) -> None:
        check_name("queue", self.queue)
        check_tags(self.tags)
        check_u64("label", self.label)


class Fetch(Command, frozen=True):
    queue: Name
    tags: Tags = ()
    match: Match | None = None
    block_timeout: Annotated[Seconds, Wire.WITHOUT_OPTION] = 0.0
    work_timeout: Seconds | None = None
    sync: Annotated[Persistence, Wire.WITHOUT_OPTION] = "write"
    count: Count | None = None
    label: Label = None

    def __post_init__(self) -> None:
        check_name("queue", self.queue)
        check_tags(self.tags)
        check_u64("label", self.label)


CLAIM_FIELDS = "`queue`, `sequence`, `shard` and perhaps `index` and `attempt`"
# The attempt of the `message` frame: the command is about that attempt's claim only.
Attempt = Annotated[U32 | None, Wire.EXTRA]


class ClaimedMessageCommand(Command, frozen=True):
    """The part that the two ways to end a claim share."""

    queue: Name
    sequence: U64
    shard: U64
    index: U64 | None = None
    label: U64 | None = None
    response: Persistence | None = None


class Finish(ClaimedMessageCommand, frozen=True):
    reply: Body | None = None
    attempt: Attempt = None

    def __post_init__(self) -> None:
        check_name("queue", self.queue)
        check_message_numbers(self)
        if self.reply is not None:
            force_setattr(self, "reply", body_bytes("reply", self.reply))


class Fail(ClaimedMessageCommand, frozen=True):
    error: ErrorText | None = None
    delay: Seconds | None = None
    attempt: Attempt = None
    final: Annotated[bool, Wire.JSON_ONLY] = False

    def __post_init__(self) -> None:
        check_name("queue", self.queue)
        check_message_numbers(self)
        check_text("error", ERROR_TEXT_RULE, self.error)


class Keepalive(Command, frozen=True):
    """For one message when `queue`, `sequence` and `shard` are given, for all when none of them is."""

    queue: Name | None = None
    sequence: U64 | None = None
    shard: U64 | None = None
    index: U64 | None = None
    label: U64 | None = None
    attempt: Attempt = None

    def __post_init__(self) -> None:
        if self.queue is not None:
            check_name("queue", self.queue)
        check_message_numbers(self)
        check_named_whole_or_not(self)


class ClaimId(Struct, frozen=True, gc=False):
    """One of the messages that a `release` names."""

    queue: Name
    sequence: U64
    shard: U64
    index: U64 | None = None
    attempt: U32 | None = None


class Release(Command, frozen=True):
    """For the `messages`, or for all that the client holds when there are none. JSON may name one without a list."""

    messages: Annotated[
        tuple[ClaimId, ...],
        Meta(max_length=MOST_CLAIMS, description=f"a list of at most {MOST_CLAIMS} messages, each with {CLAIM_FIELDS}"),
    ] = ()
    label: Label = None
    response: Persistence | None = None
    queue: Annotated[Name | None, Wire.JSON_ONLY] = None
    sequence: Annotated[U64 | None, Wire.JSON_ONLY] = None
    shard: Annotated[U64 | None, Wire.JSON_ONLY] = None
    index: Annotated[U64 | None, Wire.JSON_ONLY] = None
    attempt: Annotated[U32 | None, Wire.JSON_ONLY] = None

    def __post_init__(self) -> None:
        check_u64("label", self.label)
        check_named_whole_or_not(self)
        if self.queue is not None and self.sequence is not None and self.shard is not None:
            self._list_the_one(ClaimId(self.queue, self.sequence, self.shard, self.index, self.attempt))
        for message in self.messages:
            check_name("messages", message.queue)
            for number in (message.sequence, message.shard, message.index):
                check_u64("messages", number)

    def _list_the_one(self, message: ClaimId) -> None:
        check_name("queue", message.queue)
        check_message_numbers(self)
        if self.messages:
            raise FrameError(Code.BAD_REQUEST, "messages", "`messages` names messages already; leave out `queue`.")
        force_setattr(self, "messages", (message,))
        for key in ("queue", "sequence", "shard", "index", "attempt"):
            force_setattr(self, key, None)


class Cancel(Command, frozen=True):
    queue: Name
    shard: U64
    index: U64
    label: Label = None

    def __post_init__(self) -> None:
        check_name("queue", self.queue)
        check_u64("shard", self.shard)
        check_u64("index", self.index)
        check_u64("label", self.label)


class Create(Command, frozen=True):
    queue: Name
    tags: Tags = ()
    kind: Kind | None = None
    retry_limit: RetryLimit | None = None
    heartbeat_timeout: PositiveSeconds | None = None
    retry_delay: Seconds | None = None
    retry_backoff: Backoff | None = None
    max_length: Amount | None = None
    overflow: Overflow | None = None
    updatable: bool | None = None
    label: Label = None
    retention_seconds: Seconds | None = None
    retention_count: Amount | None = None
    retention_acked: bool | None = None
    keep_bodies: bool | None = None
    retry_delay_max: Seconds | None = None
    group_in_flight: Annotated[GroupLimit | None, Wire.EXTRA] = None
    max_in_flight: Annotated[GroupLimit | None, Wire.EXTRA] = None
    rate: Annotated[Rate | None, Wire.EXTRA] = None
    burst: Annotated[Burst | None, Wire.EXTRA] = None
    keep_replies: Annotated[Seconds | None, Wire.EXTRA] = None

    def __post_init__(self) -> None:
        check_name("queue", self.queue)
        check_tags(self.tags)
        check_u64("label", self.label)


class Subscribe(Command, frozen=True):
    queue: Name
    tags: Tags = ()
    match: Match | None = None
    in_flight: InFlight = 16
    work_timeout: Seconds | None = None
    sync: Persistence = "write"
    label: Label = None
    from_: StartAt | None = field(default=None, name="from")

    def __post_init__(self) -> None:
        check_name("queue", self.queue)
        check_tags(self.tags)
        check_u64("label", self.label)
        if isinstance(self.from_, int):
            check_u64("from", self.from_)


class Unsubscribe(Command, frozen=True):
    label: Label = None
    forget: Annotated[bool, Wire.JSON_ONLY] = False

    def __post_init__(self) -> None:
        check_u64("label", self.label)


class Register(Command, frozen=True):
    name: Name
    persistent: bool
    label: Label = None

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_u64("label", self.label)


class CheckConfig(Command, frozen=True, kw_only=True):
    config_type: ConfigType
    config_version: ConfigVersion | None = None
    identity: ShortText
    services: WorkerServices

    def __post_init__(self) -> None:
        check_text("config_version", CONFIG_VERSION_RULE, self.config_version)
        check_text("identity", SHORT_TEXT_RULE, self.identity)
        check_names("services", self.services)


class Ready(Command, frozen=True):
    services: WorkerServices
    heartbeat_interval: PositiveSeconds
    time: UnixSeconds
    config_version: ConfigVersion = ""
    slots: InFlight = 1

    def __post_init__(self) -> None:
        check_names("services", self.services)
        check_text("config_version", CONFIG_VERSION_RULE, self.config_version)


class Ping(Command, frozen=True):
    time: UnixSeconds
    config_version: ConfigVersion = ""

    def __post_init__(self) -> None:
        check_text("config_version", CONFIG_VERSION_RULE, self.config_version)


class ClientPong(Ping, frozen=True, tag="pong"):
    """The answer to a `ping` of the broker."""


class WorkRequest(Command, frozen=True):
    service: Name
    body: Body
    label: Label = None
    timeout: Seconds | None = None

    def __post_init__(self) -> None:
        check_name("service", self.service)
        force_setattr(self, "body", body_bytes("body", self.body))
        check_u64("label", self.label)


class WorkReply(Command, frozen=True):
    work_request_identifier: ShortText
    body: Body
    time: UnixSeconds
    config_version: ConfigVersion = ""

    def __post_init__(self) -> None:
        check_text("work_request_identifier", SHORT_TEXT_RULE, self.work_request_identifier)
        force_setattr(self, "body", body_bytes("body", self.body))
        check_text("config_version", CONFIG_VERSION_RULE, self.config_version)


class WorkError(Command, frozen=True, kw_only=True):
    """The worker could not answer a request. `final`: nobody else need try."""

    work_request_identifier: ShortText
    error: ErrorText
    final: bool = False
    time: UnixSeconds
    config_version: ConfigVersion = ""

    def __post_init__(self) -> None:
        check_text("work_request_identifier", SHORT_TEXT_RULE, self.work_request_identifier)
        check_text("error", ERROR_TEXT_RULE, self.error)
        check_text("config_version", CONFIG_VERSION_RULE, self.config_version)


class NeedBroker(Command, frozen=True):
    identity: ShortText
    services: Services = ()

    def __post_init__(self) -> None:
        check_text("identity", SHORT_TEXT_RULE, self.identity)
        check_names("services", self.services)


def check_message_numbers(command: Finish | Fail | Keepalive | Release) -> None:
    check_u64("sequence", command.sequence)
    check_u64("shard", command.shard)
    check_u64("index", command.index)
    check_u64("label", command.label)


def check_named_whole_or_not(command: Keepalive | Release) -> None:
    """A message is named by three fields, and by two more that mean nothing without them."""
    identity = {"queue": command.queue, "sequence": command.sequence, "shard": command.shard}
    absent = [key for key, value in identity.items() if value is None]
    names_none = len(absent) == len(identity) and command.index is None and command.attempt is None
    if absent and not names_none:
        reason = f"`{absent[0]}` is missing: a message is named by its queue, sequence and shard."
        raise FrameError(Code.BAD_REQUEST, absent[0], reason)


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


class WithExtras(NamedTuple):
    """A variant of bincode: the fields of a command or frame that has a variant of its own, then extras."""

    struct: type[Struct]


# Variants keep their numbers for ever: new ones go to the end.
COMMAND_VARIANTS: tuple[type[Command] | WithExtras, ...] = (
    Post,
    Pop,
    Fetch,
    Finish,
    Fail,
    Keepalive,
    Create,
    Subscribe,
    Unsubscribe,
    Register,
    CheckConfig,
    Ready,
    Ping,
    WorkRequest,
    WorkReply,
    NeedBroker,
    ClientPong,
    WithExtras(Post),
    WithExtras(Create),
    WithExtras(Finish),
    WithExtras(Fail),
    WithExtras(Keepalive),
    Release,
    WorkError,
    Cancel,
)

FRAME_VARIANTS: tuple[type[Frame] | WithExtras, ...] = (
    Hello,
    Notice,
    Message,
    NoMessage,
    Error,
    QueueInfo,
    Subscribed,
    Registered,
    Config,
    ReadyOk,
    Pong,
    WorkRequestOut,
    WorkReplyOut,
    ChangeBroker,
    DisconnectError,
    ForceNegotiate,
    ServerPing,
    WithExtras(Message),
    WithExtras(Notice),
    WithExtras(QueueInfo),
)

COMMANDS = tuple(variant for variant in COMMAND_VARIANTS if not isinstance(variant, WithExtras))
FRAMES = tuple(variant for variant in FRAME_VARIANTS if not isinstance(variant, WithExtras))


def body_field_of(struct: type[Struct]) -> str | None:
    """The name of the field that holds a body: no command or frame has more than one."""
    hints = get_type_hints(struct, include_extras=True)
    return next((name for name, hint in hints.items() if hint in (Body, Body | None)), None)


BODY_FIELDS: dict[type[Struct], str] = {
    struct: name for struct in (*COMMANDS, *FRAMES) if (name := body_field_of(struct)) is not None
}
