"""Named SQL statements: `Statements(folder)("claim")` is the text of claim.sql below that folder, comments left out.

A statement may say `:NAME` for a value that Python knows by that name, and for a part that several statements share:
`:JOURNALLED` stands for the text of the file _journalled.sql.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import LiteralString

PART = "_"  # begins the name of a file that is only a part of statements
_NAME = re.compile(r"(?<![:\w]):([A-Z][A-Z_]*)\b")  # neither a `::cast` nor the middle of '12:MI'


class Statements:
    """All files are read once, at the start: a statement must not depend on a file that can still be opened later."""

    def __init__(self, folder: Path, values: Mapping[str, int | str] | None = None) -> None:
        paths = sorted(folder.rglob("*.sql"))
        parts = {path.stem.removeprefix(PART).upper(): path for path in paths if path.stem.startswith(PART)}
        named = _Names({name: _literal(value) for name, value in (values or {}).items()}, parts)
        self.files = {path.stem: path for path in paths if not path.stem.startswith(PART)}
        self._texts = {name: _with_names(path, named) for name, path in self.files.items()}

    def __call__(self, name: str) -> LiteralString:
        return self._texts[name]


class _Names(dict[str, str]):
    """Values and parts, as statements have them. A part may name others; it is put together when it is asked for."""

    def __init__(self, values: Mapping[str, str], parts: Mapping[str, Path]) -> None:
        super().__init__(values)
        self.parts = parts

    def __missing__(self, name: str) -> str:
        self[name] = text = _with_names(self.parts[name], self)
        return text


def without_comments(path: Path) -> str:
    return "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("--"))


def _with_names(path: Path, named: _Names) -> LiteralString:
    def text_of(found: re.Match[str]) -> str:
        if found[1] not in named and found[1] not in named.parts:
            known = ", ".join((*named, *named.parts))
            raise ValueError(f"{path.name} says :{found[1]}, which nobody has defined. Known: {known}.")
        return named[found[1]]

    text: LiteralString = _NAME.sub(text_of, without_comments(path))
    return text


def _literal(value: int | str) -> str:
    """As SQL writes it, in a statement whose parameters begin with a percent sign."""
    if isinstance(value, int):
        return str(int(value))
    return "'" + value.replace("'", "''").replace("%", "%%") + "'"
