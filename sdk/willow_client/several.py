"""Commands that are about several messages or queues at once."""

import asyncio
from collections.abc import Iterable

from willow_client.calls import AwaitedCall
from willow_client.commands import Post
from willow_client.connection import Connection
from willow_client.frames import AnyFrame, Notice
from willow_client.message import ClaimCall, Message
from willow_client.receipt import Receipt


class SeveralCall(AwaitedCall):
    """A command that is answered by so many frames; its answer is their list."""

    __slots__ = ("_frames", "_wanted")

    def __init__(self, command: Post, *, wanted: int, repeatable: bool) -> None:
        super().__init__(command, repeatable=repeatable)
        self._wanted = wanted
        self._frames: list[AnyFrame] = []

    def _take_answer(self, frame: AnyFrame) -> bool:
        self._frames.append(frame)
        if len(self._frames) < self._wanted:
            return False
        self.succeed(self._frames)
        return True


async def post_to_several(
    connection: Connection, command: Post, names: tuple[str, ...], timeout: float | None
) -> dict[str, Receipt]:
    command.queue = names
    command.notify = ("sync",)
    command.label = connection.new_label()
    call = SeveralCall(command, wanted=len(names), repeatable=command.dedupe is not None)
    connection.start(call, timeout)
    notices: list[Notice] = await call.answer
    receipts = {notice.queue or names[0]: Receipt(notice.queue or names[0], notice) for notice in notices}
    return {name: receipts[name] for name in names}


async def finish_all(connection: Connection, messages: Iterable[Message], timeout: float | None) -> None:
    """One wait for all: a task for each would cost more than the finishes."""
    calls: list[tuple[Message, ClaimCall]] = []
    for message in messages:
        call = message.finish_call(connection)
        connection.start(call, timeout)
        calls.append((message, call))
    for _, call in calls:
        if not call.answer.done():
            await asyncio.wait([call.answer])
    for message, call in calls:
        if call.answer.exception() is None:
            message.let_go()
    for _, call in calls:
        call.answer.result()
