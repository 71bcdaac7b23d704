"""Named SQL statements: `Statements(folder)("claim")` is the text of claim.sql below that folder, comments left out."""

from pathlib import Path
from typing import LiteralString


class Statements:
    """All files are read once, at the start: a statement must not depend on a file that can still be opened later."""

    def __init__(self, folder: Path) -> None:
        self.files = {path.stem: path for path in sorted(folder.rglob("*.sql"))}
        self._texts = {name: _without_comments(path) for name, path in self.files.items()}

    def __call__(self, name: str) -> LiteralString:
        return self._texts[name]


def _without_comments(path: Path) -> LiteralString:
    lines = path.read_text().splitlines()
    text: LiteralString = "\n".join(line for line in lines if not line.lstrip().startswith("--"))
    return text
