"""What a cause is, and how causes name times and clients."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

OVER_HTTP = 0  # the holder of claims that belong to no session

TITLES = {
    "behind": "others first",
    "no_reader": "nobody reads",
    "in_flight_bound": "readers are full",
    "subscriber_away": "subscriber away",
    "group_in_flight": "its group is busy",
    "max_in_flight": "the queue's limit",
    "rate": "the queue's rate",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """`code` is for programs, `sentence` for people; `blocks` says whether it alone keeps messages from moving."""

    code: str
    sentence: str
    blocks: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The code in a person's words."""
        return TITLES.get(self.code, self.code)


def time_text(moment: datetime | None) -> str:
    return "an unknown time" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def holder_text(row: Any) -> str:
    """Of a row with the columns `holder`, `client` and `node`."""
    if row.holder == OVER_HTTP:
        return "programs over HTTP"
    where = f"on {row.node}" if row.node else "away"
    return f"{row.client or 'an anonymous client'} (session {row.holder}, {where})"
