"""Posts and messages of the fake: what the client's receipts and messages have, without a broker behind it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from willow_client import ClaimLost, GiveUp
from willow_client.bodies import Body, WithBody, from_wire, to_wire

if TYPE_CHECKING:
    from willow_testing.fake import FakeWillow


@dataclass(frozen=True)
class PostedMessage:
    """A post as it was made, and its receipt."""

    queue: str
    body: bytes
    index: int
    tags: tuple[str, ...] = ()
    priority: int = 0
    delay: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    shard: int = 1
    duplicate: bool = False  # it was not stored again: this is the receipt of the first

    @property
    def sequence(self) -> int:
        return self.index

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


class FakeMessage(WithBody):
    """A message in a worker's hands."""

    def __init__(self, fake: "FakeWillow", posted: PostedMessage, attempt: int) -> None:
        super().__init__(to_wire("body", posted.body))
        self._fake = fake
        self._posted = posted
        self.attempt = attempt
        self.is_held = True
        self.queue, self.tags, self.index, self.priority = posted.queue, posted.tags, posted.index, posted.priority
        self.shard, self.sequence = posted.shard, posted.sequence
        self.headers: dict[str, str] = dict(posted.options.get("headers") or {})
        self.group: str | None = posted.options.get("group")
        self.work_timeout = 300.0

    async def finish(self, reply: Body | None = None, **how: Any) -> None:
        self._end()
        self._fake.end(self._posted, self._fake.finished)
        self._fake.replies[self.queue, self.index] = None if reply is None else from_wire(to_wire("reply", reply))

    async def fail(self, error: str | None = None, **how: Any) -> None:
        self._end()
        if self.attempt >= self._fake.attempts:
            self._fake.end(self._posted, self._fake.dead)
        else:
            self._fake.put_back(self._posted, self.attempt)

    async def give_up(self, error: str | None = None, **how: Any) -> None:
        self._end()
        self._fake.end(self._posted, self._fake.dead)

    async def release(self, **how: Any) -> None:
        self._end()
        self._fake.put_back(self._posted, self.attempt - 1)

    async def keepalive(self, **how: Any) -> None: ...

    def _end(self) -> None:
        if not self.is_held:
            reason = f"Message {self.index} of {self.queue} has ended already."
            raise ClaimLost("NoObject", f"{self.shard}/{self.sequence}", reason)
        self.is_held = False


class FakeWorking:
    """`async with`: finishes the message on success, fails it on an exception."""

    def __init__(self, message: FakeMessage) -> None:
        self.message = message
        self.reply: Body | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.message.is_held:
            return
        if error is None:
            await self.message.finish(self.reply)
        elif isinstance(error, GiveUp):
            await self.message.give_up(str(error))
        else:
            await self.message.fail(str(error))
