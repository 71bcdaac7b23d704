"""A client that posts into memory, for unit tests: `post`, `fetch`, `pop` and their like, without a broker.

    fake = FakeWillow()
    place_order(willow=fake)  # the code under test
    fake.assert_posted("orders", matching={"order": 17})

The methods are those of `willow_client.Client`; `fake.sync` has those of the blocking client. Time does not pass: a
delayed message waits until `fake.run(queue, handler, delayed=True)` or a test looks at `fake.posted`.
"""

import asyncio
import inspect
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from willow_client import BadArgument, Draft, GiveUp, Posted, Retry, Timeout
from willow_client.arguments import as_tags, check_name
from willow_client.bodies import Body, WithBody, from_wire, to_wire

DEFAULT_ATTEMPTS = 3


@dataclass(frozen=True)
class PostedMessage:
    """A post as it was made."""

    queue: str
    body: bytes
    index: int
    tags: tuple[str, ...] = ()
    priority: int = 0
    delay: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

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

    async def finish(self, reply: Body | None = None, **how: Any) -> None:
        self._end()
        self._fake.finished.append(self._posted)
        self._fake.replies[self.queue, self.index] = None if reply is None else from_wire(to_wire("reply", reply))

    async def fail(self, error: str | None = None, **how: Any) -> None:
        self._end()
        if self.attempt >= self._fake.attempts:
            self._fake.dead.append(self._posted)
        else:
            self._fake.put_back(self._posted, self.attempt)

    async def give_up(self, error: str | None = None, **how: Any) -> None:
        self._end()
        self._fake.dead.append(self._posted)

    async def release(self, **how: Any) -> None:
        self._end()
        self._fake.put_back(self._posted, self.attempt - 1)

    async def keepalive(self, **how: Any) -> None: ...

    def _end(self) -> None:
        if not self.is_held:
            raise AssertionError(f"Message {self.index} of {self.queue} has ended already.")
        self.is_held = False


class FakeWillow:
    """`posted` is everything that was posted, in order; `finished` and `dead` what became of it."""

    def __init__(self, *, attempts: int = DEFAULT_ATTEMPTS) -> None:
        self.attempts = attempts  # after which a message is dead
        self.posted: list[PostedMessage] = []
        self.finished: list[PostedMessage] = []
        self.dead: list[PostedMessage] = []
        self.replies: dict[tuple[str, int], bytes | None] = {}
        self._waiting: dict[str, list[tuple[PostedMessage, int]]] = defaultdict(list)  # with attempts so far
        self._known: dict[tuple[str, str], PostedMessage] = {}  # by queue and dedupe text
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
        tags: Iterable[str] = (),
        priority: int = 0,
        delay: float | None = None,
        dedupe: str | None = None,
        **options: Any,
    ) -> PostedMessage:
        check_name("queue", queue)
        if dedupe is not None and (queue, dedupe) in self._known:
            return self._known[queue, dedupe]
        index = 1 + sum(message.queue == queue for message in self.posted)
        data = from_wire(to_wire("message", body))
        posted = PostedMessage(queue, data, index, as_tags(tuple(tags)), priority, delay, options)
        if dedupe is not None:
            self._known[queue, dedupe] = posted
        self.posted.append(posted)
        self.put_back(posted, 0)
        return posted

    async def post_many(self, queue: str, messages: Iterable[Body | Draft], **how: Any) -> Posted:
        result = Posted(errors={})
        how.pop("window", None)
        for place, message in enumerate(messages):
            draft = message if isinstance(message, Draft) else Draft(body=message)
            try:
                await self.post(
                    queue, draft.body, priority=draft.priority, delay=draft.delay, dedupe=draft.dedupe, **how
                )
            except BadArgument as error:
                result.errors[place] = error
            else:
                result.stored += 1
        return result

    async def result(self, message: PostedMessage, **how: Any) -> bytes | None:
        """The reply of whoever finished it; queues of a fake keep all replies."""
        if (message.queue, message.index) not in self.replies:
            raise Timeout(f"Message {message.index} of {message.queue} is not finished.")
        return self.replies[message.queue, message.index]

    async def create(self, queue: str, **settings: Any) -> None:
        check_name("queue", queue)

    # taking

    def put_back(self, posted: PostedMessage, attempts: int) -> None:
        waiting = self._waiting[posted.queue]
        waiting.append((posted, attempts))
        waiting.sort(key=lambda entry: (-entry[0].priority, entry[0].index))

    async def fetch(self, queue: str, **how: Any) -> FakeMessage | None:
        """The next message that is not delayed."""
        return self._take(queue, delayed=False)

    async def pop(self, queue: str, **how: Any) -> FakeMessage | None:
        message = self._take(queue, delayed=False)
        if message is not None:
            await message.finish()
        return message

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


class BlockingFake:
    """The same methods, not awaited."""

    def __init__(self, fake: FakeWillow) -> None:
        self._fake = fake

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._fake, name)
        if not inspect.iscoroutinefunction(method):
            return method
        return lambda *arguments, **how: asyncio.run(method(*arguments, **how))
