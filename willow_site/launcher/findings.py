"""What `./willow doctor` looks at, and what it finds."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from willow_site.configuration import Configuration
from willow_site.launcher.homes import Home


class Verdict(Enum):
    GOOD = "good"
    NOTE = "note"  # works, but somebody should know
    WRONG = "WRONG"


@dataclass(frozen=True)
class Finding:
    verdict: Verdict
    what: str
    remedy: str = ""


@dataclass(frozen=True)
class Patient:
    configuration: Configuration
    home: Home
    environ: Mapping[str, str]


def good(what: str) -> Finding:
    return Finding(Verdict.GOOD, what)


def note(what: str, remedy: str) -> Finding:
    return Finding(Verdict.NOTE, what, remedy)


def wrong(what: str, remedy: str) -> Finding:
    return Finding(Verdict.WRONG, what, remedy)
