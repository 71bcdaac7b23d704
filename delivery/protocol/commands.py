"""Every command of a client, as a frozen value.

The order of a struct's fields is their order in bincode; fields marked as extras follow behind, in the variants with
extras (`variants.py`). A field that has a default may be left out in JSON.
"""

from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from delivery.protocol.errors import Code, FrameError
from delivery.protocol.fields import (
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
    ShortText,
    StartAt,
    Tags,
    Wire,
    body_bytes,
    check_headers,
    check_name,
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
    final: Annotated[bool, Wire.EXTRA] = False

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
        if self.kind == "stream":
            check_no_limits(self)


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


def check_no_limits(command: Create) -> None:
    """Nobody claims messages of a stream."""
    for key in ("group_in_flight", "max_in_flight", "rate", "burst"):
        if getattr(command, key) is not None:
            raise FrameError(Code.BAD_REQUEST, key, f"`{key}` does not exist on streams: nobody claims their messages.")


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
