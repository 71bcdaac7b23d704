"""Posted messages: receipts, and what becomes of what was posted."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TYPE_CHECKING

from willow_client.arguments import check_seconds
from willow_client.bodies import from_wire
from willow_client.calls import AwaitedCall
from willow_client.commands import Post, Stage
from willow_client.errors import (
    BadArgument,
    ConnectionLost,
    Dropped,
    NoObject,
    ObjectAlreadyExists,
    Timeout,
    WillowError,
)
from willow_client.frames import AnyFrame, Notice

if TYPE_CHECKING:
    from willow_client.connection import Connection

# A repeated post is recognised by the broker for a while only (WILLOW_DEDUPE_SECONDS, 300 by default).
REPEATABLE_SECONDS = 240.0
LATER = ("assign", "finish")  # what workers do, and the broker only tells
ENDS: tuple[Stage, ...] = ("finish", "drop")  # stages after which a message has no more


class Receipt:
    """Where a post was stored. `(shard, sequence)` is its ID while it lives, `(shard, index)` for ever.

    If the post asked for notices, `assigned`, `finished` and their like wait for them.
    """

    __slots__ = ("_following", "duplicate", "index", "queue", "sequence", "shard")

    def __init__(self, queue: str, notice: Notice, following: "FollowedPost | None" = None) -> None:
        self.queue = queue
        self.shard = notice.shard or 0
        self.sequence = notice.sequence or 0
        self.index = notice.index or 0
        self.duplicate = notice.duplicate  # it was not stored again: this is the receipt of the first
        self._following = following

    def __repr__(self) -> str:
        return f"<Receipt of message {self.index} in {self.queue}, shard {self.shard}, sequence {self.sequence}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Receipt) and (self.shard, self.index) == (other.shard, other.index)

    def __hash__(self) -> int:
        return hash((self.shard, self.index))

    async def ready(self, *, timeout: float | None = None) -> None:
        """The broker has it in memory."""
        await self._await("ready", timeout)

    async def written(self, *, timeout: float | None = None) -> None:
        """It is committed."""
        await self._await("write", timeout)

    async def synced(self, *, timeout: float | None = None) -> None:
        """It is committed and flushed to disk."""
        await self._await("sync", timeout)

    async def assigned(self, *, timeout: float | None = None) -> None:
        """A client got it."""
        await self._await("assign", timeout)

    async def retried(self, *, timeout: float | None = None) -> None:
        """An attempt ended without a finish, and there will be another."""
        await self._await("retry", timeout)

    async def dropped(self, *, timeout: float | None = None) -> None:
        """It was moved to the dead letter queue."""
        await self._await("drop", timeout)

    async def finished(self, *, timeout: float | None = None) -> bytes | None:
        """A client finished it: returns its reply, if it sent one. `Dropped` if the message was given up instead."""
        notice = await self._await("finish", timeout)
        return None if notice.reply is None else from_wire(notice.reply)

    async def notices(self, *, timeout: float | None = None) -> AsyncIterator[Stage]:
        """The stages that were asked for, as they happen, until the message has ended.

        `timeout`: seconds to wait for each.
        """
        check_seconds("timeout", timeout, above_zero=True)
        seen = 0
        while True:
            notice = await self._within(timeout, self._follow().at(seen), "next one")
            yield notice.notice  # type: ignore[misc]  # the broker's stages are the protocol's
            if notice.notice in ENDS:
                return
            seen += 1

    def taken_back(self, connection: "Connection") -> None:
        """It was cancelled: whoever waits for a notice waits no longer."""
        if self._following is not None:
            connection.stop(self._following.label)
            self._following.fail(NoObject("NoObject", f"{self.shard}/{self.index}", "The message was taken back."))

    async def _await(self, stage: Stage, timeout: float | None) -> Notice:
        following = self._follow()
        if stage not in following.stages:
            raise BadArgument("notify", f"The post did not ask for it: post(…, notify=[{stage!r}]).")
        check_seconds("timeout", timeout, above_zero=True)
        return await self._within(timeout, following.first(stage), f"notice `{stage}`")

    async def _within(self, timeout: float | None, coming: Awaitable[Notice], awaited: str) -> Notice:
        try:
            async with asyncio.timeout(timeout):
                return await coming
        except TimeoutError as error:
            if isinstance(error, WillowError):
                raise
            raise Timeout(f"The {awaited} of {self!r} did not come within {timeout:g} seconds.") from None

    def _follow(self) -> "FollowedPost":
        if self._following is None:
            raise BadArgument("notify", "The post asked for no notices: post(…, notify=[…]).")
        return self._following


class PostCall(AwaitedCall):
    """A post that waits for one stage. Its answer is a receipt."""

    __slots__ = ("_queue", "_started", "wait")

    def __init__(self, command: Post, wait: str, *, queue: str, repeatable: bool, now: float) -> None:
        super().__init__(command, repeatable=repeatable)
        self.wait = wait
        self._queue = queue
        self._started = now

    @property
    def needs_repeating(self) -> bool:
        now = self.answer.get_loop().time()
        return self.repeatable and self.is_wanted and now - self._started < REPEATABLE_SECONDS

    def _take_answer(self, frame: AnyFrame) -> bool:
        if isinstance(frame, Notice):
            self.succeed(Receipt(self._queue, frame))
        return True


class FollowedPost(PostCall):
    """A post that asked for more notices than the one that it waits for."""

    __slots__ = ("_arrived", "_ended", "_notices", "stages")

    def __init__(
        self, command: Post, wait: str, stages: frozenset[str], *, queue: str, repeatable: bool, now: float
    ) -> None:
        super().__init__(command, wait, queue=queue, repeatable=repeatable, now=now)
        self.stages = stages
        self._notices: list[Notice] = []
        self._arrived = asyncio.Event()
        self._ended: WillowError | None = None

    @property
    def awaited(self) -> str:
        if self.wait not in LATER:
            return super().awaited
        return f"the notice `{self.wait}` of the message in {self._queue} did not come; the message stays there"

    @property
    def waits_for_notices(self) -> bool:
        return self.answer.done() and not self.answer.cancelled()

    def _take_answer(self, frame: AnyFrame) -> bool:
        if not isinstance(frame, Notice):
            return True
        self._notices.append(frame)
        self._arrived.set()
        self._arrived.clear()
        if frame.notice == self.wait or frame.notice in ENDS:
            self._answer(frame)
        if frame.notice == "sync" and frame.duplicate and not self.repeated:
            self.fail(_posted_before(frame))
            return True
        return frame.notice in ENDS

    def _answer(self, notice: Notice) -> None:
        if self.wait == "finish" and notice.notice == "drop":
            self.fail(_dropped(notice))
        elif self.wait == "finish":
            self.succeed(None if notice.reply is None else from_wire(notice.reply))
        else:
            self.succeed(Receipt(self._queue, notice, self))

    def fail(self, error: WillowError) -> None:
        super().fail(error)
        self._ended = error
        self._arrived.set()

    async def at(self, place: int) -> Notice:
        """The notice at that place, which may still be to come."""
        while len(self._notices) <= place:
            if isinstance(self._ended, NoObject | ObjectAlreadyExists):
                raise self._ended
            if self._ended is not None:
                raise ConnectionLost("The connection was lost, and this notice with it.") from self._ended
            await self._arrived.wait()
        return self._notices[place]

    async def first(self, stage: str) -> Notice:
        """The first notice of a stage. Raises if the message ends without it."""
        place = 0
        while True:
            notice = await self.at(place)
            if notice.notice == stage:
                return notice
            if notice.notice == "drop":
                raise _dropped(notice)
            if notice.notice == "finish":
                raise WillowError("NoObject", stage, f"The message was finished, and the notice `{stage}` never came.")
            place += 1


def _posted_before(notice: Notice) -> ObjectAlreadyExists:
    key = f"{notice.shard}/{notice.index}"
    return ObjectAlreadyExists(
        "ObjectAlreadyExists", key, "It was posted before; only the first post hears of its end."
    )


def _dropped(notice: Notice) -> Dropped:
    key = f"{notice.shard}/{notice.index}"
    return Dropped("Dropped", key, "The message was given up: it is in the dead letter queue now.")
