"""Bodies as people read them: as JSON, as text, or byte by byte."""

import json
from dataclasses import dataclass

SHOWN_BYTES = 256 * 1024  # of a body; the rest is left out
HEX_BYTES = 16  # on each line


@dataclass(frozen=True, slots=True)
class BodyViews:
    """`json` and `text` are None where the body is neither. `best` names the view to begin with."""

    json: str | None
    text: str | None
    hex: str
    size: int
    shown: int

    @property
    def best(self) -> str:
        return next(name for name in ("json", "text", "hex") if getattr(self, name) is not None)


def body_views(beginning: bytes, size: int) -> BodyViews:
    """`size` is that of the whole body, of which only the beginning may be there."""
    return BodyViews(
        json=_as_json(beginning) if len(beginning) == size else None,
        text=_as_text(beginning, cut=len(beginning) < size),
        hex=_as_hex(beginning),
        size=size,
        shown=len(beginning),
    )


def first_line(beginning: bytes) -> str:
    """A body in a list: its beginning on one line, whatever it is."""
    text = beginning.decode(errors="replace")
    return "".join(character if character.isprintable() else "·" for character in text)


def _as_json(body: bytes) -> str | None:
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _as_text(body: bytes, cut: bool) -> str | None:
    """Not text: what is no UTF-8, or has control characters other than white space."""
    last = 3 if cut else 0  # bytes of a character that may have lost its end
    for missing in range(last + 1):
        try:
            text = body[: len(body) - missing].decode()
        except UnicodeDecodeError:
            continue
        return text if all(character.isprintable() or character in "\t\r\n\xa0" for character in text) else None
    return None


def _as_hex(body: bytes) -> str:
    lines = (body[start : start + HEX_BYTES] for start in range(0, len(body), HEX_BYTES))
    return "\n".join(
        f"{number * HEX_BYTES:08x}  {line.hex(' '):<{HEX_BYTES * 3 - 1}}  {_printable(line)}"
        for number, line in enumerate(lines)
    )


def _printable(line: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in line)
