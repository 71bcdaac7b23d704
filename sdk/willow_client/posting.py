"""Posting many messages with a bounded number of them under way."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from typing import TypeAlias, TypedDict

from msgspec import Struct

from willow_client.bodies import Body
from willow_client.calls import Call, error_of
from willow_client.commands import Post
from willow_client.errors import WillowError
from willow_client.frames import AnyFrame, Error

MOST_BYTES_UNDER_WAY = 16 * 1024 * 1024
PROGRESS_EVERY = 1000  # messages


class Draft(Struct, kw_only=True):
    """A message to be posted that says more than its body."""

    body: Body
    priority: int = 0
    key: str | None = None
    delay: float | None = None
    ttl: float | None = None
    dedupe: str | None = None
    headers: Mapping[str, str] | None = None
    group: str | None = None
    unique: str | None = None


class PostExtras(TypedDict, total=False):
    """`headers` go with the message. `group` and `unique` are texts of 1 to 200 characters: what belongs together, and
    what is not posted again while a message with it lives (`duplicate` of the receipt says so)."""

    headers: Mapping[str, str] | None
    group: str | None
    unique: str | None


class Posted(Struct):
    """How far `post_many` has come. `errors` are by the message's place in what was given, from 0."""

    stored: int = 0
    errors: dict[int, WillowError] = {}

    @property
    def done(self) -> int:
        return self.stored + len(self.errors)


Drafts: TypeAlias = Iterable[Body | Draft] | AsyncIterable[Body | Draft]
Progress: TypeAlias = Callable[[Posted], None]


class Window:
    """What is under way of one `post_many`."""

    def __init__(self, most: int, progress: Progress | None) -> None:
        self.posted = Posted()
        self._most = most
        self._progress = progress
        self._under_way = 0
        self._bytes = 0
        self._waiting: asyncio.Future[None] | None = None
        self._waits_for_all = False

    def begin(self, size: int) -> None:
        self._under_way += 1
        self._bytes += size

    def end(self, size: int, place: int, error: WillowError | None) -> None:
        self._under_way -= 1
        self._bytes -= size
        self.record(place, error)
        if self._waiting is not None and not self._waiting.done() and not self._is_full():
            self._waiting.set_result(None)

    def record(self, place: int, error: WillowError | None) -> None:
        if error is None:
            self.posted.stored += 1
        else:
            self.posted.errors[place] = error
        if self._progress is not None and self.posted.done % PROGRESS_EVERY == 0:
            self._progress(self.posted)

    def _is_full(self) -> bool:
        if self._waits_for_all:
            return self._under_way > 0
        return self._under_way >= self._most or self._bytes >= MOST_BYTES_UNDER_WAY

    async def room(self) -> None:
        while self._is_full():
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting

    async def all_answered(self) -> Posted:
        self._waits_for_all = True
        await self.room()
        if self._progress is not None:
            self._progress(self.posted)
        return self.posted


class WindowCall(Call):
    """One post of a window: nobody awaits it alone."""

    __slots__ = ("_place", "_window")

    def __init__(self, command: Post, window: Window, place: int, *, repeatable: bool) -> None:
        super().__init__(command, repeatable=repeatable)
        self._window = window
        self._place = place
        window.begin(len(self.encoded))

    def take(self, frame: AnyFrame) -> bool:
        self._window.end(len(self.encoded), self._place, error_of(frame) if isinstance(frame, Error) else None)
        return True

    def fail(self, error: WillowError) -> None:
        self._window.end(len(self.encoded), self._place, error)


async def each(drafts: Drafts) -> AsyncIterator[Draft]:
    if isinstance(drafts, AsyncIterable):
        async for draft in drafts:
            yield draft if isinstance(draft, Draft) else Draft(body=draft)
    else:
        for draft in drafts:
            yield draft if isinstance(draft, Draft) else Draft(body=draft)
