"""What the workload asks of every peer."""

from collections.abc import Sequence
from typing import Any, Protocol


class Connection(Protocol):
    """One client. What `take` returns is whatever `finish` needs to know."""

    async def post(self, bodies: Sequence[bytes]) -> None:
        """Store messages, and return when they are as safe as the peer can make them."""

    async def take(self, count: int) -> Sequence[Any]:
        """Claim up to so many messages; none if the queue is empty."""

    async def finish(self, taken: Sequence[Any]) -> None:
        """End claims; the messages will not be delivered again."""
