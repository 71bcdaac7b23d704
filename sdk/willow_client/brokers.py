"""Which broker to connect to: the preferred one, and after failures the others by turns."""

from collections.abc import Iterable, Sequence

from willow_client.errors import BadArgument
from willow_client.opening import check_url


class Brokers:
    def __init__(self, urls: str | Sequence[str]) -> None:
        self._given = [check_url(url) for url in ([urls] if isinstance(urls, str) else urls)]
        if not self._given:
            raise BadArgument("url", "At least one URL of a broker is needed.")
        self.current = self._given[0]
        self.preferred = self.current
        self._group: list[str] = []

    @property
    def choice(self) -> list[str]:
        """All that are known, the preferred one first."""
        return list(dict.fromkeys((self.preferred, *self._given, *self._group)))

    def learn(self, group: Iterable[str]) -> None:
        """What the configuration of a service says about the nodes that take clients."""
        self._group = list(group)

    def prefer(self, url: str) -> None:
        self.preferred = url

    def failed(self) -> None:
        """Try the next one."""
        choice = self.choice
        place = choice.index(self.current) + 1 if self.current in choice else 0
        self.current = choice[place % len(choice)]
