"""What a run agrees on with the steps that go on beside it, if somebody follows the journal meanwhile.

A step computes the newest minutes straight from the journal, a run computes days from the archive, and either may be
the newer one. What a step read after the run had archived is newer than the run's, which leaves those minutes alone.
What a step read before, and has not merged yet, may be older: such a step is made again.
"""

import threading
from dataclasses import dataclass, field
from datetime import datetime


@dataclass
class Beside:
    merging: threading.Lock = field(default_factory=threading.Lock)  # for whoever merges facts, or changes what follows
    runs: int = 0  # that have archived
    fresh_since: datetime | None = None  # minutes from this one on were computed by steps since the last of them

    def archived(self) -> None:
        with self.merging:
            self.runs += 1
            self.fresh_since = None

    def computed(self, since: datetime) -> None:
        """To be called with the lock held, after the minutes from that one on were merged."""
        self.fresh_since = min(since, self.fresh_since or since)
