"""The result of an operator's action on many messages."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

BATCH = 500  # messages in one transaction, so that none holds its locks for long
MOST_MESSAGES = 100_000  # in one action
MOST_SECONDS = 20.0  # that one action may take; the rest needs another one

GONE = "not there (any more)"
CLAIMED = "held by a client"
BUSY = "just being moved by somebody else"
REQUEST = "a request of a service"


@dataclass
class Tally:
    """Counts, with the reasons for what was not done. `more`: the action reached its limit; repeat it."""

    done: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    more: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "done": self.done,
            "skipped": self.skipped.total(),
            "failed": self.failed.total(),
            "reasons": dict(self.skipped + self.failed),
            "more": self.more,
        }

    def add(self, other: "Tally") -> None:
        self.done += other.done
        self.skipped.update(other.skipped)
        self.failed.update(other.failed)
        self.more |= other.more

    def __str__(self) -> str:
        parts = [f"{self.done} done"]
        for what, reasons in (("skipped", self.skipped), ("failed", self.failed)):
            if reasons:
                listed = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
                parts.append(f"{reasons.total()} {what} ({listed})")
        return "; ".join(parts) + ("; there are more" if self.more else "")


class Budget:
    """How much one action may still do."""

    def __init__(self, messages: int = MOST_MESSAGES, seconds: float = MOST_SECONDS) -> None:
        self.messages = min(messages, MOST_MESSAGES)
        self._until = time.monotonic() + seconds

    @property
    def is_spent(self) -> bool:
        return self.messages <= 0 or time.monotonic() >= self._until

    @property
    def batch(self) -> int:
        return max(0, min(BATCH, self.messages))

    def spend(self, messages: int) -> None:
        self.messages -= messages
