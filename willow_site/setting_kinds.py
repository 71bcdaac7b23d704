"""The kinds of value a setting can have: how its text is read and what is allowed.

Standard library only: the launcher checks the configuration before it has looked at Django.
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import SplitResult, urlsplit

T = TypeVar("T")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

SWITCH_WORDS = {
    "on": True,
    "true": True,
    "yes": True,
    "1": True,
    "off": False,
    "false": False,
    "no": False,
    "0": False,
}


@dataclass(frozen=True)
class Kind(Generic[T]):
    """How the text of a variable becomes a value; `parse` raises ValueError for anything not `allowed`."""

    parse: Callable[[str], T]
    allowed: str


def text(pattern: str, allowed: str) -> Kind[str]:
    def parse(raw: str) -> str:
        if not re.fullmatch(pattern, raw):
            raise ValueError
        return raw

    return Kind(parse, allowed)


def whole_number(low: int, high: int) -> Kind[int]:
    def parse(raw: str) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", raw) or not low <= int(raw) <= high:
            raise ValueError
        return int(raw)

    return Kind(parse, f"a whole number from {low} to {high}")


def number(low: float, high: float) -> Kind[float]:
    def parse(raw: str) -> float:
        if not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", raw) or not low <= float(raw) <= high:
            raise ValueError
        return float(raw)

    return Kind(parse, f"a number from {low:g} to {high:.12g}")


def switch() -> Kind[bool]:
    def parse(raw: str) -> bool:
        try:
            return SWITCH_WORDS[raw.lower()]
        except KeyError:
            raise ValueError from None

    return Kind(parse, "on or off")


def choice(*words: str) -> Kind[str]:
    def parse(raw: str) -> str:
        if raw.lower() not in words:
            raise ValueError
        return raw.lower()

    return Kind(parse, f"{', '.join(words[:-1])} or {words[-1]}")


def folder(relative_to: Path) -> Kind[Path]:
    return Kind(lambda raw: relative_to / Path(raw).expanduser(), "the path of a folder")


def file(relative_to: Path) -> Kind[Path]:
    def parse(raw: str) -> Path:
        path = relative_to / Path(raw).expanduser()
        if not path.is_file():
            raise ValueError
        return path

    return Kind(parse, "the path of a file that exists")


def ip_address() -> Kind[str]:
    return Kind(
        lambda raw: str(ipaddress.ip_address(raw)),
        "an IP address of this machine, such as 127.0.0.1 or 0.0.0.0",
    )


def host_names() -> Kind[tuple[str, ...]]:
    def parse(raw: str) -> tuple[str, ...]:
        names = _comma_list(raw)
        if not all(re.fullmatch(r"\*|\.?[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]", name) for name in names):
            raise ValueError
        return names

    return Kind(parse, "a comma-separated list of host names without ports, such as broker.example.org,localhost")


def origins() -> Kind[tuple[str, ...]]:
    def parse(raw: str) -> tuple[str, ...]:
        names = _comma_list(raw)
        if not all(
            re.fullmatch(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?", name) for name in names
        ):
            raise ValueError
        return tuple(name.lower() for name in names)

    return Kind(parse, "a comma-separated list of origins, such as https://app.example.org,http://localhost:3000")


def quotas(*names: str) -> Kind[tuple[str, ...]]:
    """As texts such as `connections=10`."""

    def parse(raw: str) -> tuple[str, ...]:
        given = _comma_list(raw)
        for one in given:
            name, _, value = one.partition("=")
            if name not in names or not (value.isascii() and value.isdigit()):
                raise ValueError(one)
        return given

    return Kind(parse, f"a comma-separated list such as connections=100,posts_per_second=50, of {', '.join(names)}")


def networks() -> Kind[tuple[Network, ...]]:
    return Kind(
        lambda raw: tuple(ipaddress.ip_network(part) for part in _comma_list(raw)),
        "a comma-separated list of IP addresses and networks, such as 10.0.0.0/8,192.168.1.7",
    )


def url(*schemes: str, example: str, check: Callable[[SplitResult], bool] = lambda parts: True) -> Kind[str]:
    def parse(raw: str) -> str:
        parts = urlsplit(raw)
        # Asking for the port makes urllib check it.
        if parts.scheme not in schemes or (parts.port is not None and parts.port < 1) or not check(parts):
            raise ValueError
        return raw

    return Kind(parse, f"a URL such as {example}")


def _comma_list(raw: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in raw.split(",") if part.strip())
