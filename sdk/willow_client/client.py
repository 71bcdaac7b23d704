"""The client: one method for each thing that can be asked of a broker."""

from collections.abc import Sequence
from typing import Unpack

from willow_client.arguments import Tags, as_tags, check_name
from willow_client.bodies import Body, from_wire, to_wire
from willow_client.calls import StandingCall
from willow_client.client_posting import PostingClient
from willow_client.client_taking import TakingClient
from willow_client.commands import Create, Register, WorkRequest
from willow_client.frames import Queue, Registration
from willow_client.limits import Limit, NotGiven, limit
from willow_client.options import OptionArguments, Options
from willow_client.queue_settings import QueueSettings, check_settings


def connect(url: str | Sequence[str], **options: Unpack[OptionArguments]) -> "Client":
    """A client of the broker at this URL, or at any of several: for `async with`, or for `await client.open()`.

    It reconnects by itself. The options are those of `Options`.
    """
    return Client(url, Options(**options))


class Client(PostingClient, TakingClient):
    """Posts, takes, and asks for queues, names and services."""

    async def create(
        self, queue: str, *, tags: Tags = (), timeout: Limit = NotGiven, **settings: Unpack[QueueSettings]
    ) -> Queue:
        """Define a queue; one that exists stays as it is. The settings are those of `QueueSettings`."""
        check_settings(settings)
        command = Create(queue=check_name("queue", queue), tags=as_tags(tags), **settings)
        created: Queue = await self._connection.ask(command, repeatable=True, timeout=limit(self._connection, timeout))
        return created

    async def register(self, name: str, *, persistent: bool, timeout: Limit = NotGiven) -> Registration:
        """Be the client of this name, now and after every reconnect."""
        command = Register(name=check_name("name", name), persistent=persistent, label=self._connection.new_label())
        call = StandingCall(command)
        self._connection.start(call, limit(self._connection, timeout))
        registration: Registration = await call.answer
        return registration

    async def request(self, service: str, body: Body, *, timeout: Limit = NotGiven) -> bytes:
        """Ask a service and wait for its reply.

        `timeout` bounds all of it: afterwards no worker is given the request any more. `Failed` has the text of what
        the worker raised.
        """
        seconds = limit(self._connection, timeout)
        command = WorkRequest(
            service=check_name("service", service),
            body=to_wire("body", body, self.options.max_body_bytes),
            timeout=seconds,
        )
        reply = await self._connection.ask(command, repeatable=False, timeout=seconds)
        return from_wire(reply.body)
