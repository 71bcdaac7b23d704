"""Decodes a JSON frame command by command, when decoding it in one go has failed or would be too costly.

Each bad command gets an error of its own, naming the field, and the good ones beside it are kept. What is too long for
its field is not looked into: its items would become objects of many times its size before they are counted.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import astuple

from delivery.protocol.commands import Command
from delivery.protocol.errors import Code, FrameError, missing_field, refused_value, shown, unreadable_frame
from delivery.protocol.fields import U64_MAX
from delivery.protocol.json.parts import MOST_TOKENS, WHITESPACE, split_member, split_outermost
from delivery.protocol.limits import MOST_COMMANDS_PER_FRAME, too_many_commands
from delivery.protocol.refusals import expected_in_words, refusal_of
from delivery.protocol.variants import BODY_FIELDS, COMMANDS

# What msgspec raises for a text that it cannot decode; its ValidationError is a DecodeError.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

# The members of a JSON object: the text of each value, by its key.
Members = dict[str, msgspec.Raw]

# The longest text of a member that is no body: above that of the longest list that a command may have.
MOST_MEMBER_BYTES = 2 * 1024 * 1024
# The longest list or object that is decoded only to find out what is wrong with it.
MOST_EXAMINED_BYTES = 64 * 1024
MOST_OBJECTS = 1_000_000  # that a frame may seem to hold, texts included, before its commands are told apart slowly

_COMMAND_TYPES = {command.__struct_config__.tag: command for command in COMMANDS}
_BODY_KEYS = frozenset(BODY_FIELDS.values())


class _AnyObject(msgspec.Struct):
    """Its members are passed over."""


_NOT_GIVEN, _NULL = msgspec.Raw(), msgspec.Raw(b"null")
# Whatever else an object has is passed over, and takes no memory.
_KnownMembers = msgspec.defstruct(
    "_KnownMembers",
    [
        (key, msgspec.Raw, _NOT_GIVEN)
        for key in sorted({"type"} | {key for command in COMMANDS for key in command.__struct_encode_fields__})
    ],
    rename=lambda name: name.rstrip("_"),
)
_KNOWN_KEYS = tuple(zip(_KnownMembers.__struct_encode_fields__, _KnownMembers.__struct_fields__, strict=True))
_MEMBERS_DECODER = msgspec.json.Decoder(_KnownMembers)
_ELEMENTS_DECODER = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECTS_DECODER = msgspec.json.Decoder(list[_AnyObject])
MOST_EXPLAINED_BYTES = 64 * 1024  # of a text that is looked through for what is wrong with it
_ORDINARY_ESCAPE = re.compile(rb"\\[^u]")
_SURROGATE_PAIR = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..", re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def decode_one_by_one(text: bytes) -> list[Command | FrameError]:
    commands = _commands_of(text)
    if commands is None:
        return [unreadable_frame("The frame is not JSON, and its commands cannot be told apart.")]
    if len(commands) > MOST_COMMANDS_PER_FRAME:
        return [too_many_commands()]
    return [_decode_alone(bytes(command)) for command in commands]


def _commands_of(text: bytes) -> Sequence[bytes | msgspec.Raw] | None:
    """The text of each command of a frame, or None if they cannot be told apart."""
    if not text.lstrip(WHITESPACE).startswith(b"["):
        return [text]
    if _has_few_elements(text):
        with suppress(*UNREADABLE):
            return _ELEMENTS_DECODER.decode(text)
    return split_outermost(text)


def _has_few_elements(text: bytes) -> bool:
    """A frame that holds nothing but commas would decode to objects of thirty times its size."""
    if text.count(b",") <= MOST_TOKENS:
        return True
    if text.count(b"{") > MOST_OBJECTS:
        return False
    with suppress(*UNREADABLE):
        _OBJECTS_DECODER.decode(text)
        return True
    return False


def _decode_alone(text: bytes) -> Command | FrameError:
    try:
        known = _MEMBERS_DECODER.decode(text)
        members = _given_members(known)
    except msgspec.ValidationError:
        return unreadable_frame(f"A command is a JSON object, not {_quoted(text)}.")
    except UNREADABLE:
        members = _members_of_malformed(text)
        refusal = _refusal_of_unreadable(members)
    else:
        decoded = _decode_members(members, None if _NULL in astuple(known) else text)
        if isinstance(decoded, Command):
            return decoded
        refusal = decoded
    refusal.label = _label_of(members)
    return refusal


def _given_members(known: msgspec.Struct) -> Members:
    """`null` means the same as left out, also where a field has another default."""
    return {
        key: value for key, name in _KNOWN_KEYS if (value := getattr(known, name)) is not _NOT_GIVEN and value != _NULL
    }


def _decode_members(given: Members, whole: bytes | None) -> Command | FrameError:
    """`whole`: a text that says the same, unless it gives a key twice. A good one need not be put together again, which
    would copy a body of megabytes."""
    if "type" not in given:
        return missing_field("type")
    command_type = _command_type(given["type"])
    if command_type is None:
        return refused_value("type", "the name of a command", _quoted(given["type"]))
    own_keys = command_type.__struct_encode_fields__
    for key, value in given.items():
        if key in own_keys and key not in _BODY_KEYS and len(memoryview(value)) > MOST_MEMBER_BYTES:
            return refused_value(key, expected_in_words(command_type, key), _quoted(value))
    if whole is not None:
        with suppress(FrameError, *UNREADABLE):
            return msgspec.json.decode(whole, type=command_type)
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
            _examine(value)
        except RecursionError:
            return FrameError(Code.BAD_REQUEST, key, f"`{key}` is nested too deeply.")
        except UNREADABLE as error:
            reason = f"cannot be read as JSON in UTF-8: {error}"
            if _has_lone_surrogate(bytes(memoryview(value)[: MOST_EXPLAINED_BYTES + 1])):
                reason = "has half of a surrogate pair (\\ud800 to \\udfff), which stands for no character"
            return FrameError(Code.BAD_REQUEST, key, f"`{key}` {reason}.")
    return unreadable_frame("The command is not well-formed JSON.")


def _has_lone_surrogate(text: bytes) -> bool:
    """One that is left over of the escapes when the others are gone. Early versions of Python 3.11 get a single
    expression for this wrong: their possessive groups forget where an alternative began."""
    if len(text) > MOST_EXPLAINED_BYTES:
        return False
    surrogates = _SURROGATE_PAIR.sub(b" ", _ORDINARY_ESCAPE.sub(b" ", text))
    return _SURROGATE.search(surrogates) is not None


def _examine(value: msgspec.Raw) -> None:
    is_text = memoryview(value)[:1] == b'"'
    examined = is_text or len(memoryview(value)) <= MOST_EXAMINED_BYTES
    msgspec.json.decode(value, type=Any if examined else msgspec.Raw)


def _label_of(members: Members) -> int | None:
    """The label of a command that could not be taken, if it has a readable one."""
    try:
        label = msgspec.json.decode(members.get("label", b"null"), type=int | None)
    except UNREADABLE:
        return None
    return label if label is not None and 0 <= label <= U64_MAX else None


def _quoted(text: bytes | msgspec.Raw) -> str:
    beginning = bytes(memoryview(text)[:MOST_EXAMINED_BYTES])
    return shown(beginning.strip(WHITESPACE).decode(errors="replace")) or "an empty text"
