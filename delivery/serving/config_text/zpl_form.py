r"""Configurations in ZFL, the ZeroMQ property language (RFC 4/ZPL): `name = value`, nested by four spaces.

ZPL knows only texts and nesting, so a value says by its looks what it is: in quotes a text, without quotes a number,
`true`, `false`, `null`, or `list` with its items below; a name without a value is a map. In a text, `"`, `\` and
whatever is not printable ASCII are written as JSON escapes, with `"` as `\u0022`, so that a reader which knows
nothing of this still finds its end. In a name, what ZPL does not allow is written as `$` and two hexadecimal digits
for each byte of UTF-8; a lone `$` is the empty name.

    port = 8080
    limits
        sizes = list
            item = 10
"""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

INDENT = "    "
ITEM = "item"
LIST = "list"
EMPTY_NAME = "$"
PLAIN = re.compile(r"[A-Za-z0-9_.@&+/-]")
LINE = re.compile(r"(?P<indent>(?: {4})*)(?P<name>[A-Za-z0-9$_.@&+/-]+)(?: = (?P<value>.+))?")

Lines = list[tuple[int, str, str | None]]  # depth, name, value


def write_zpl(value: dict[str, Any]) -> str:
    return "".join(f"{line}\n" for line in _map_lines(value, ""))


def _map_lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    for name, held in value.items():
        yield from _lines(_written_name(name), held, indent)


def _lines(name: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield f"{indent}{name}"
        yield from _map_lines(value, indent + INDENT)
    elif isinstance(value, list):
        yield f"{indent}{name} = {LIST}"
        for item in value:
            yield from _lines(ITEM, item, indent + INDENT)
    else:
        yield f"{indent}{name} = {_written_value(value)}"


def _written_name(name: str) -> str:
    if not name:
        return EMPTY_NAME
    return "".join(
        letter if PLAIN.fullmatch(letter) else "".join(f"${byte:02X}" for byte in letter.encode()) for letter in name
    )


def _written_value(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value, allow_nan=False)
    return '"' + json.dumps(value)[1:-1].replace('\\"', "\\u0022") + '"'


def read_zpl(text: str) -> Any:
    lines: Lines = []
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"Line {number} is not of the form `name = value`.")
        lines.append((len(found["indent"]) // len(INDENT), found["name"], found["value"]))
    return _read_map(lines, 0)


def _read_map(lines: Lines, depth: int) -> dict[str, Any]:
    return {_read_name(name): _read_value(value, below, depth) for name, value, below in _blocks(lines, depth)}


def _read_value(value: str | None, below: Lines, depth: int) -> Any:
    if value is None:
        return _read_map(below, depth + 1)
    if value == LIST:
        return [_read_value(item, of_item, depth + 1) for _, item, of_item in _blocks(below, depth + 1)]
    return json.loads(value)


def _blocks(lines: Lines, depth: int) -> Iterator[tuple[str, str | None, Lines]]:
    """Each line of this depth, with the lines below it."""
    starts = [position for position, line in enumerate(lines) if line[0] == depth]
    for start, end in pairwise([*starts, len(lines)]):
        _, name, value = lines[start]
        yield name, value, lines[start + 1 : end]


def _read_name(name: str) -> str:
    if name == EMPTY_NAME:
        return ""
    return unquote(name.replace("$", "%"), errors="strict")
