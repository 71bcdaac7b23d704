"""Which broker a worker connects to: the preferred one, and after failures the others of its group by turns."""

from collections.abc import Iterable


class Brokers:
    def __init__(self, url: str) -> None:
        self.preferred = url
        self._group: list[str] = []
        self._failures = 0

    def learn(self, group: Iterable[str]) -> None:
        """What the configuration says about the nodes that take clients."""
        self._group = list(group)

    def prefer(self, url: str) -> None:
        self.preferred = url
        self._failures = 0

    def next_after_failure(self) -> str:
        self._failures += 1
        choice = [self.preferred, *(url for url in self._group if url != self.preferred)]
        return choice[self._failures % len(choice)]
