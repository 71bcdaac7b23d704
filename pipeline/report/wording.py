"""Numbers and times as people read them."""

from datetime import datetime
from math import log10

NOTHING = "\N{EN DASH}"
# From how many seconds on a unit is used, how many it has, its name.
UNITS = ((172_800.0, 86_400.0, "d"), (7200.0, 3600.0, "h"), (120.0, 60.0, "min"), (1.0, 1.0, "s"), (0.0, 0.001, "ms"))


def count(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def duration(seconds: float | None) -> str:
    """Two significant digits or more."""
    if seconds is None:
        return NOTHING
    if seconds == 0:
        return "0 s"
    _, size_of_unit, unit = next(unit for unit in UNITS if seconds >= unit[0])
    value = seconds / size_of_unit
    digits = max(0, 1 - int(log10(value))) if value >= 0.1 else 2
    return f"{value:,.{digits}f} {unit}"


def size(octets: float | None) -> str:
    if octets is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB", "GiB"):
        if octets < 1024:
            return f"{octets:,.0f} {unit}" if unit == "B" else f"{octets:,.1f} {unit}"
        octets /= 1024
    return f"{octets:,.1f} TiB"


def moment(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"


def queue(name: str, tags: list[str]) -> str:
    return f"{name} [{', '.join(tags)}]" if tags else name
