"""What a connection knows of the parts of the client that use it."""

from typing import Protocol, TypeAlias

from willow_client.errors import WillowError
from willow_client.frames import AnyFrame


class Listener(Protocol):
    """A part of the client whose words count for one socket only: it starts anew on each."""

    def connected(self, node: str) -> None:
        """The broker of that name said hello."""

    def unasked(self, frame: AnyFrame) -> None:
        """A frame that answers no command."""

    def lost(self) -> None: ...

    def ended(self, reason: WillowError) -> None: ...


Terms: TypeAlias = tuple[str, frozenset[str], str]  # queue, tags and match: a connection has one subscription of each


class Closable(Protocol):
    async def close(self) -> None: ...
