"""What the workload asks of every peer."""

from collections.abc import Sequence
from typing import Any, Protocol


class Connection(Protocol):
    """One client. What `take` returns is whatever `finish` needs to know, with the message's body as `body`."""

    async def post(self, bodies: Sequence[bytes]) -> None:
        """Store messages, and return when they are as safe as the peer can make them."""

    async def take(self, count: int, wait: float = 0.0) -> Sequence["Taken"]:
        """Claim up to so many messages; none if the queue stays empty for `wait` seconds."""

    async def finish(self, taken: Sequence["Taken"]) -> None:
        """End claims, and return when that is recorded; the messages will not be delivered again."""


class Taken:
    """A message that was claimed."""

    __slots__ = ("body", "claim")

    def __init__(self, claim: Any, body: bytes) -> None:
        self.claim = claim
        self.body = body
