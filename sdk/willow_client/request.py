"""A request that this client answers as a worker."""

from typing import Any

from willow_client.body import WithBody
from willow_client.connection import Connection
from willow_client.errors import told_to_broker
from willow_client.frames import Assignment, Fail, Keepalive


class Request(WithBody):
    """`config` is what operators configured for the service, as of now."""

    __slots__ = ("_connection", "config", "identifier", "service")

    def __init__(self, connection: Connection, assignment: Assignment, config: dict[str, Any]) -> None:
        super().__init__(assignment.body)
        self._connection = connection
        self.identifier = assignment.work_request_identifier
        self.service = assignment.service
        self.config = config

    async def keepalive(self) -> None:
        """Start the time that the request may take again from zero. `WillowError` if it went to another worker."""
        await self._connection.ask(Keepalive(**self._message()), repeatable=True)

    async def give_up(self, error: BaseException) -> None:
        """The request goes to the next worker, or back to the frontend if it has no attempts left."""
        failure = Fail(**self._message(), response="write", error=told_to_broker(error))
        await self._connection.ask(failure, repeatable=True)

    def _message(self) -> dict[str, Any]:
        """A request is a message of the service's queue, and its identifier the message's numbers."""
        shard, sequence, index = map(int, self.identifier.split("."))
        return {"queue": f"service:{self.service}", "shard": shard, "sequence": sequence, "index": index}
