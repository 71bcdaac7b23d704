"""Messages in a worker's hands, and receipts of posted ones."""

from msgspec import Struct

from willow_client.body import WithBody
from willow_client.connection import Connection
from willow_client.frames import Delivery, Fail, Finish, Keepalive, Persistence, to_json_body

# The client does not know the timeout of the queue, which is 300 seconds unless somebody set it lower.
DEFAULT_KEEPALIVE_SECONDS = 20.0


class Receipt(Struct, frozen=True, gc=False):
    """Where a post was stored. `(shard, sequence)` is its ID while it lives, `(shard, index)` for ever."""

    shard: int
    sequence: int
    index: int


class Message(WithBody):
    """A message that this client holds until it calls `finish` or `fail`. A popped one has ended already."""

    __slots__ = (
        "_connection", "_work_timeout",
        "attempt", "index", "priority", "queue", "sequence", "shard", "tags",
    )  # fmt: skip

    def __init__(self, connection: Connection, delivery: Delivery, work_timeout: float | None) -> None:
        super().__init__(delivery.body)
        self._connection = connection
        self._work_timeout = work_timeout
        self.queue = delivery.queue
        self.tags = delivery.tags
        self.shard = delivery.shard
        self.sequence = delivery.sequence
        self.index = delivery.index
        self.attempt = delivery.attempt
        self.priority = delivery.priority

    @property
    def keepalive_seconds(self) -> float:
        """How often a keepalive must be sent so that the claim outlasts two lost ones."""
        return DEFAULT_KEEPALIVE_SECONDS if self._work_timeout is None else self._work_timeout / 3

    async def finish(self, reply: bytes | str | None = None, *, wait: Persistence | None = "write") -> None:
        """The work is done. `wait` says how safely that is stored before this returns; None does not wait."""
        command = Finish(
            queue=self.queue,
            shard=self.shard,
            sequence=self.sequence,
            index=self.index,
            response=wait,
            reply=None if reply is None else to_json_body(reply),
        )
        await self._end(command)

    async def fail(
        self, error: str | None = None, *, delay: float | None = None, wait: Persistence | None = "write"
    ) -> None:
        """This attempt failed; the next one comes after `delay` seconds, or as the queue's backoff says."""
        command = Fail(
            queue=self.queue,
            shard=self.shard,
            sequence=self.sequence,
            index=self.index,
            response=wait,
            error=error,
            delay=delay,
        )
        await self._end(command)

    async def _end(self, command: Finish | Fail) -> None:
        if command.response is None:
            await self._connection.tell(command)
        else:
            await self._connection.ask(command, repeatable=True)

    async def keepalive(self) -> None:
        """Start the claim's time again from zero."""
        command = Keepalive(queue=self.queue, shard=self.shard, sequence=self.sequence, index=self.index)
        await self._connection.ask(command, repeatable=True)
