"""Other queues under the same checker, with the faults that apply to them: `./willow faults --peer NAME`.

Each adapter has a server that can be killed and started again, and a connection with `post`, `take` and `finish`, made
as its authors recommend it for messages that must not be lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from willow_site.processes import ProcessIdentity


@dataclass(frozen=True, slots=True)
class Taken:
    number: int  # never used again
    attempt: int
    body: str


class PeerConnection(Protocol):
    async def post(self, body: str) -> int | None:
        """Returns when it is on disk: the message's number, if the peer tells it."""

    async def take(self) -> Sequence[Taken]:
        """Messages for this client, which others get after `CLAIM_SECONDS` if it does not finish them."""

    async def finish(self, taken: Taken) -> bool | None:
        """Whether the peer says that this ended the message. None: it says nothing."""

    async def close(self) -> None: ...


class PeerServer(Protocol):
    """It goes on with the data that it had when it was killed."""

    @property
    def port(self) -> int: ...

    def start(self) -> str:
        """Its address, when it takes connections."""

    def running_process(self) -> ProcessIdentity | None: ...

    def stop(self) -> None: ...

    def left(self) -> list[str]:
        """The bodies of the messages that it still has."""


CLAIM_SECONDS = 4
