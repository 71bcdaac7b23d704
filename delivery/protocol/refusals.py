"""What to answer when msgspec refuses a command: which field is at fault, and what it must be, in words."""

import re
from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Meta, Struct, ValidationError
from msgspec.structs import fields

from delivery.protocol.errors import FrameError, missing_field, refused_value, unreadable_frame

_MISSING_FIELD = re.compile(r"Object missing required field `(\w+)`$")
_REFUSED_FIELD = re.compile(r".* - at `\$\.(\w+)", re.DOTALL)


def refusal_of(error: ValidationError, command: type[Struct], quote: Callable[[str], str]) -> FrameError:
    """The answer to a command of this type that msgspec refused; `quote` shows the value of a field."""
    if missing := _MISSING_FIELD.match(str(error)):
        return missing_field(missing[1])
    refused = _REFUSED_FIELD.match(str(error))
    if not refused:  # its wording is no contract: what we do not recognise is passed on as it is
        return unreadable_frame(f"{error}.")
    key = refused[1]
    return refused_value(key, expected_in_words(command, key), quote(key))


@cache
def expected_in_words(command: type[Struct], key: str) -> str:
    return _in_words(next(field.type for field in fields(command) if field.encode_name == key))


def _in_words(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        described = (mark.description for mark in arguments[1:] if isinstance(mark, Meta))
        return next((words for words in described if words), None) or _in_words(arguments[0])
    if origin in (Union, UnionType):
        return _in_words(next(argument for argument in arguments if argument is not NoneType))
    if origin is Literal:
        return f"one of {', '.join(arguments)}"
    if origin is frozenset:
        return f"a list of which each is {_in_words(arguments[0])}"
    return "true or false" if hint is bool else "a text"
