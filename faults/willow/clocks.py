"""Processes whose clock can be set while they run, by Debian's libfaketime where it is installed."""

from pathlib import Path

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
RIGHT = "+0"


def can_set_clocks() -> bool:
    return bool(LIBRARIES)


def with_clock(file: Path) -> dict[str, str]:
    """Variables for a process that goes by the file. Only the time of day steps, as when an operator sets it."""
    if not LIBRARIES:
        return {}
    set_clock(file, RIGHT)
    return {
        "LD_PRELOAD": str(LIBRARIES[0]),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


def set_clock(file: Path, offset: str) -> None:
    """`offset`: such as +300s."""
    file.write_text(offset + "\n")
