"""The numbers of commands and frames in bincode: their places in COMMAND_VARIANTS and FRAME_VARIANTS."""

from typing import NamedTuple, get_type_hints

from msgspec import Struct

from delivery.protocol.commands import (
    Cancel,
    Command,
    Create,
    Fail,
    Fetch,
    Finish,
    Keepalive,
    Pop,
    Post,
    Register,
    Release,
    Subscribe,
    Unsubscribe,
)
from delivery.protocol.fields import Body
from delivery.protocol.frames import (
    ChangeBroker,
    Config,
    DisconnectError,
    Error,
    ForceNegotiate,
    Frame,
    Hello,
    Message,
    NoMessage,
    Notice,
    Pong,
    QueueInfo,
    ReadyOk,
    Registered,
    ServerPing,
    Subscribed,
    WorkReplyOut,
    WorkRequestOut,
)
from delivery.protocol.service_commands import (
    CheckConfig,
    ClientPong,
    NeedBroker,
    Ping,
    Ready,
    WorkError,
    WorkReply,
    WorkRequest,
)


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
