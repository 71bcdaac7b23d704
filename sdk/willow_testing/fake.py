"""A client that posts into memory, for unit tests: `post`, `fetch`, `pop` and their like, without a broker.

    fake = FakeWillow()
    place_order(willow=fake)  # the code under test
    fake.assert_posted("orders", matching={"order": 17})

The methods are those of `willow_client.Client`; `fake.sync` has those of the blocking client. Time does not pass: a
delayed message waits until `fake.run(queue, handler, delayed=True)` or a test looks at `fake.posted`, and a
subscription ends when nothing waits any more.
"""

import inspect
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from willow_client import BadArgument, Draft, GiveUp, Posted, Retry, Timeout, Unavailable
from willow_client.arguments import Tags, as_tags, check_name, check_post
from willow_client.bodies import Body, WithBody, from_wire, to_wire

from willow_testing.blocking_fake import BlockingFake
from willow_testing.fake_messages import FakeMessage, FakeWorking, PostedMessage

DEFAULT_ATTEMPTS = 3


class FakeWillow:
    """`posted` is everything that was posted, in order; `finished` and `dead` what became of it."""

    def __init__(self, *, attempts: int = DEFAULT_ATTEMPTS) -> None:
        self.attempts = attempts  # after which a message is dead
        self.posted: list[PostedMessage] = []
        self.finished: list[PostedMessage] = []
        self.dead: list[PostedMessage] = []
        self.replies: dict[tuple[str, int], bytes | None] = {}
        self._waiting: dict[str, list[tuple[PostedMessage, int]]] = defaultdict(list)  # with attempts so far
        self.services: dict[str, Callable[[WithBody], Body]] = {}  # by name: what answers requests
        self._known: dict[tuple[str, str], PostedMessage] = {}  # by queue and dedupe text
        self._alive: dict[tuple[str, str], PostedMessage] = {}  # by queue and unique text, until they end
        self._shards: dict[str, int] = {}  # by queue
        self.is_open = self.is_connected = True
        self.sync = BlockingFake(self)

    async def __aenter__(self) -> "FakeWillow":
        return self

    async def __aexit__(self, *error: object) -> None: ...

    async def open(self, **how: Any) -> "FakeWillow":
        return self

    async def close(self, **how: Any) -> None: ...

    # posting

    async def post(
        self,
        queue: str,
        body: Body,
        *,
        tags: Tags = (),
        priority: int = 0,
        delay: float | None = None,
        dedupe: str | None = None,
        **options: Any,
    ) -> PostedMessage:
        given = {"priority": priority, "delay": delay, "dedupe": dedupe, **options}
        check_post(queue, {**given, "tags": tags})
        unique = options.get("unique")
        known = self._known.get((queue, dedupe or "")) or self._alive.get((queue, unique or ""))
        if known is not None:
            return replace(known, duplicate=True)
        index = 1 + sum(message.queue == queue for message in self.posted)
        data = from_wire(to_wire("message", body))
        shard = self._shards.setdefault(queue, len(self._shards) + 1)
        posted = PostedMessage(queue, data, index, as_tags(tags), priority, delay, options, shard)
        if dedupe is not None:
            self._known[queue, dedupe] = posted
        if unique is not None:
            self._alive[queue, unique] = posted
        self.posted.append(posted)
        self.put_back(posted, 0)
        return posted

    async def post_many(self, queue: str, messages: Iterable[Body | Draft], **how: Any) -> Posted:
        result = Posted(errors={})
        how = {name: value for name, value in how.items() if name == "tags"}
        for place, message in enumerate(messages):
            draft = message if isinstance(message, Draft) else Draft(body=message)
            try:
                await self.post(queue, draft.body, **_said_by(draft), **how)
            except BadArgument as error:
                result.errors[place] = error
            else:
                result.stored += 1
        return result

    async def post_to_all(self, queues: Iterable[str], body: Body, **how: Any) -> list[PostedMessage]:
        return [await self.post(queue, body, **how) for queue in queues]

    async def cancel(self, receipt: PostedMessage, **how: Any) -> bool:
        """Take back a message that still waits. Returns False if it was too late."""
        waiting = self._waiting[receipt.queue]
        left = [entry for entry in waiting if entry[0].index != receipt.index]
        self._waiting[receipt.queue] = left
        if len(left) < len(waiting):
            self.end(receipt, [])
        return len(left) < len(waiting)

    async def result(self, message: PostedMessage | tuple[int, int], **how: Any) -> bytes | None:
        """The reply of whoever finished it; queues of a fake keep all replies."""
        name = message if isinstance(message, tuple) else (message.shard, message.index)
        for queue, index in self.replies:
            if (self._shards[queue], index) == name:
                return self.replies[queue, index]
        raise Timeout(f"Message {name[1]} of shard {name[0]} is not finished.")

    async def request(self, service: str, body: Body, **how: Any) -> bytes:
        """What `services[service]` returns: set it to a function of the request."""
        if service not in self.services:
            raise Unavailable("Unavailable", service, f"No worker serves {service}: set `services[{service!r}]`.")
        return from_wire(to_wire("reply", self.services[service](WithBody(to_wire("body", body)))))

    async def create(self, queue: str, **settings: Any) -> None:
        check_name("queue", queue)

    async def register(self, name: str, **how: Any) -> None:
        check_name("name", name)

    # taking

    def put_back(self, posted: PostedMessage, attempts: int) -> None:
        waiting = self._waiting[posted.queue]
        waiting.append((posted, attempts))
        waiting.sort(key=lambda entry: (-entry[0].priority, entry[0].index))

    def end(self, posted: PostedMessage, among: list[PostedMessage]) -> None:
        """Its unique text is free again."""
        self._alive.pop((posted.queue, posted.options.get("unique") or ""), None)
        among.append(posted)

    async def fetch(self, queue: str, **how: Any) -> FakeMessage | None:
        """The next message that is not delayed."""
        return self._take(queue, delayed=False)

    async def pop(self, queue: str, **how: Any) -> FakeMessage | None:
        message = self._take(queue, delayed=False)
        if message is not None:
            await message.finish()
        return message

    async def fetch_many(self, queue: str, count: int, **how: Any) -> list[FakeMessage]:
        taken = [await self.fetch(queue) for _ in range(min(count, len(self._waiting[queue])))]
        return [message for message in taken if message is not None]

    async def pop_many(self, queue: str, count: int, **how: Any) -> list[FakeMessage]:
        taken = await self.fetch_many(queue, count)
        await self.finish_many(taken)
        return taken

    async def finish_many(self, messages: Iterable[FakeMessage], **how: Any) -> None:
        for message in messages:
            await message.finish()

    def working(self, message: FakeMessage) -> FakeWorking:
        return FakeWorking(message)

    async def subscribe(self, queue: str, **how: Any) -> AsyncIterator[FakeMessage]:
        while (message := await self.fetch(queue)) is not None:
            yield message

    @asynccontextmanager
    async def worker(self, queue: str, handler: Callable[[FakeMessage], Any], **how: Any) -> AsyncIterator[None]:
        """Works on what waits when it begins, and when it ends."""
        await self.run(queue, handler)
        yield
        await self.run(queue, handler)

    def _take(self, queue: str, *, delayed: bool) -> FakeMessage | None:
        waiting = self._waiting[queue]
        for place, (posted, attempts) in enumerate(waiting):
            if delayed or not posted.delay:
                del waiting[place]
                return FakeMessage(self, posted, attempts + 1)
        return None

    async def run(self, queue: str, handler: Callable[[FakeMessage], Any], *, delayed: bool = False) -> int:
        """Work on everything that waits, as a worker would, attempts and all. Returns how many messages ended."""
        before = len(self.finished) + len(self.dead)
        while (message := self._take(queue, delayed=delayed)) is not None:
            try:
                outcome = handler(message)
                reply = await outcome if inspect.isawaitable(outcome) else outcome
            except GiveUp as error:
                await message.give_up(str(error))
            except (Retry, Exception) as error:
                await message.fail(str(error))
            else:
                if message.is_held:
                    await message.finish(reply)
        return len(self.finished) + len(self.dead) - before

    # looking

    def posts_to(self, queue: str, matching: Any = None) -> list[PostedMessage]:
        """`matching`: a body, a part of a JSON object, or a function that says whether a post is meant."""
        return [post for post in self.posted if post.queue == queue and _matches(post, matching)]

    def assert_posted(self, queue: str, matching: Any = None, *, times: int | None = None) -> list[PostedMessage]:
        found = self.posts_to(queue, matching)
        if not found or (times is not None and len(found) != times):
            wanted = "one" if times is None else f"{times}"
            was = "\n".join(f"  {post.queue}: {post.body[:200]!r}" for post in self.posted) or "  nothing"
            raise AssertionError(
                f"Of posts to {queue} that match {matching!r}, {wanted} was expected, not {len(found)}. "
                f"Posted was:\n{was}"
            )
        return found

    def assert_nothing_posted(self, queue: str | None = None) -> None:
        found = [post for post in self.posted if queue in (None, post.queue)]
        if found:
            raise AssertionError(f"Nothing was to be posted, but {len(found)} messages were: {found[:5]}")


def _said_by(draft: Draft) -> dict[str, Any]:
    names = ("priority", "delay", "dedupe", "key", "ttl", "headers", "group", "unique")
    return {name: value for name in names if (value := getattr(draft, name)) is not None}


def _matches(post: PostedMessage, matching: Any) -> bool:
    if matching is None:
        return True
    if callable(matching):
        return bool(matching(post))
    if isinstance(matching, bytes):
        return post.body == matching
    if isinstance(matching, str):
        return post.body == matching.encode()
    try:
        return _contains(post.json(), matching)
    except ValueError:
        return False


def _contains(value: Any, part: Any) -> bool:
    if isinstance(part, Mapping) and isinstance(value, Mapping):
        return all(name in value and _contains(value[name], wanted) for name, wanted in part.items())
    return bool(value == part)
