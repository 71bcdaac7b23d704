"""Who was there last, and when somebody else was: busy clients step back only while there are others."""

import time
from collections.abc import Hashable

LATELY = 0.3  # seconds: whoever is made to pause, for a quarter of a second at most, is still there
LONG_AGO = float("-inf")


class Presence:
    def __init__(self) -> None:
        self._latest: Hashable = None
        self._latest_at = self._other_at = LONG_AGO

    def note(self, who: Hashable) -> None:
        if who != self._latest:
            self._latest, self._other_at = who, self._latest_at
        self._latest_at = time.perf_counter()

    def has_others(self, who: Hashable) -> bool:
        """Whether anybody else was there lately."""
        others_at = self._other_at if who == self._latest else self._latest_at
        return time.perf_counter() - others_at <= LATELY

    @property
    def is_of_several(self) -> bool:
        return self.has_others(self._latest)


clients_here = Presence()  # whose frames this process takes
