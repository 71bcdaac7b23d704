"""Decodes a JSON frame command by command, once decoding it in one go has failed.

Each bad command gets an error of its own, naming the field, and the good ones beside it are kept.
"""

from contextlib import suppress

import msgspec

from delivery.protocol.errors import Code, FrameError, missing_field, refused_value, shown, unreadable_frame
from delivery.protocol.fields import U64_MAX
from delivery.protocol.frames import COMMANDS, Command
from delivery.protocol.json.parts import MOST_TOKENS, WHITESPACE, split_member, split_outermost
from delivery.protocol.limits import MOST_COMMANDS_PER_FRAME, too_many_commands
from delivery.protocol.refusals import refusal_of

# What msgspec raises for a text that it cannot decode; its ValidationError is a DecodeError.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

# The members of a JSON object: the text of each value, by its key.
Members = dict[str, msgspec.Raw]

_ELEMENTS_DECODER = msgspec.json.Decoder(list[msgspec.Raw])
_MEMBERS_DECODER = msgspec.json.Decoder(Members)
_COMMAND_TYPES = {command.__struct_config__.tag: command for command in COMMANDS}


def decode_one_by_one(text: bytes) -> list[Command | FrameError]:
    commands = _commands_of(text)
    if commands is None:
        return [unreadable_frame("The frame is not JSON, and its commands cannot be told apart.")]
    if len(commands) > MOST_COMMANDS_PER_FRAME:
        return [too_many_commands()]
    return [_decode_alone(command) for command in commands]


def _commands_of(text: bytes) -> list[bytes] | None:
    """The text of each command of a frame, or None if they cannot be told apart."""
    if not text.lstrip(WHITESPACE).startswith(b"["):
        return [text]
    # A frame that holds nothing but commas would decode to objects of thirty times its size.
    if text.count(b",") <= MOST_TOKENS:
        with suppress(*UNREADABLE):
            return [bytes(raw) for raw in _ELEMENTS_DECODER.decode(text)]
    return split_outermost(text)


def _decode_alone(text: bytes) -> Command | FrameError:
    try:
        members = _MEMBERS_DECODER.decode(text)
    except msgspec.ValidationError:
        return unreadable_frame(f"A command is a JSON object, not {_quoted(text)}.")
    except UNREADABLE:
        members = _members_of_malformed(text)
        refusal = _refusal_of_unreadable(members)
    else:
        decoded = _decode_members(members)
        if isinstance(decoded, Command):
            return decoded
        refusal = decoded
    refusal.label = _label_of(members)
    return refusal


def _decode_members(members: Members) -> Command | FrameError:
    # `null` means the same as left out, also where a field has another default.
    given = {key: value for key, value in members.items() if bytes(value) != b"null"}
    if "type" not in given:
        return missing_field("type")
    command_type = _command_type(given["type"])
    if command_type is None:
        return refused_value("type", "the name of a command", _quoted(given["type"]))
    try:
        return msgspec.json.decode(msgspec.json.encode(given), type=command_type)
    except FrameError as error:
        return error
    except msgspec.ValidationError as error:
        return refusal_of(error, command_type, lambda key: _quoted(given[key]))
    except UNREADABLE:
        return _refusal_of_unreadable(given)


def _command_type(name: msgspec.Raw) -> type[Command] | None:
    with suppress(*UNREADABLE):
        return _COMMAND_TYPES.get(msgspec.json.decode(name, type=str))
    return None


def _members_of_malformed(text: bytes) -> Members:
    """The members of an object that is not JSON, as far as they can be told apart."""
    members: Members = {}
    for part in split_outermost(text) or ():
        key, value = split_member(part)
        with suppress(*UNREADABLE):
            members[msgspec.json.decode(key, type=str)] = msgspec.Raw(value)
    return members


def _refusal_of_unreadable(members: Members) -> FrameError:
    """What to answer to a command that is not JSON: the first member that cannot be read is at fault."""
    for name, value in members.items():
        key = shown(name)
        try:
            msgspec.json.decode(value)
        except RecursionError:
            return FrameError(Code.BAD_REQUEST, key, f"`{key}` is nested too deeply.")
        except UNREADABLE as error:
            return FrameError(Code.BAD_REQUEST, key, f"`{key}` cannot be read as JSON in UTF-8: {error}.")
    return unreadable_frame("The command is not well-formed JSON.")


def _label_of(members: Members) -> int | None:
    """The label of a command that could not be taken, if it has a readable one."""
    try:
        label = msgspec.json.decode(members.get("label", b"null"), type=int | None)
    except UNREADABLE:
        return None
    return label if label is not None and 0 <= label <= U64_MAX else None


def _quoted(text: bytes | msgspec.Raw) -> str:
    return shown(bytes(text).strip(WHITESPACE).decode(errors="replace")) or "an empty text"
