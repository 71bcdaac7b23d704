"""What the protocol has and this version does not do yet: refused by name, and not silently left out."""

from delivery.protocol.commands import Command, Create
from delivery.protocol.errors import Code, WillowError

UNSUPPORTED_FIELDS: dict[type[Command], tuple[str, ...]] = {
    Create: ("group_in_flight", "max_in_flight", "rate", "burst", "keep_replies"),
}


def refuse_unsupported(command: Create) -> None:
    for field in UNSUPPORTED_FIELDS[type(command)]:
        if getattr(command, field) is not None:
            raise WillowError(Code.BAD_REQUEST, field, f"`{field}` is not supported by this version.")
