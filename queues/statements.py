"""Named SQL statements: `Statements(folder)("claim")` is the text of claim.sql in that folder, without its comments."""

from functools import cache
from pathlib import Path
from typing import LiteralString


class Statements:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._text = cache(self._read)

    def __call__(self, name: str) -> LiteralString:
        return self._text(name)

    def _read(self, name: str) -> LiteralString:
        lines = (self._folder / f"{name}.sql").read_text().splitlines()
        text: LiteralString = "\n".join(line for line in lines if not line.lstrip().startswith("--"))
        return text
