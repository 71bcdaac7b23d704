"""The part of the client that posts."""

from collections.abc import AsyncIterable, Iterable, Sequence
from typing import Literal, Unpack, overload

from willow_client.arguments import (
    LARGEST_PRIORITY,
    Tags,
    as_headers,
    as_tags,
    check_choice,
    check_grouping_text,
    check_name,
    check_seconds,
    check_short_text,
    check_whole,
)
from willow_client.bodies import Body, to_wire
from willow_client.client_base import ClientBase
from willow_client.commands import PERSISTENCES, STAGES, Cancel, Persistence, Post, Stage
from willow_client.errors import BadArgument, NoObject, WillowError
from willow_client.limits import MOST_AT_ONCE, Limit, NotGiven, limit
from willow_client.posting import Draft, Drafts, Posted, PostExtras, Progress, Window, WindowCall, each
from willow_client.receipt import ENDS, FollowedPost, PostCall, Receipt
from willow_client.results import MessageName, result_of
from willow_client.several import post_to_several
from willow_client.spans import producing, with_trace

WAITED_FOR: tuple[Stage, ...] = ("ready", "write", "sync", "assign", "finish")


class PostingClient(ClientBase):
    @overload
    async def post(
        self, queue: str, body: Body, *, wait: Literal["finish"], tags: Tags = ..., priority: int = ...,
        notify: Stage | Iterable[Stage] = ..., key: str | None = ..., delay: float | None = ...,
        ttl: float | None = ..., dedupe: str | None = ..., timeout: Limit = ..., **extras: Unpack[PostExtras],
    ) -> bytes | None: ...  # fmt: skip

    @overload
    async def post(
        self, queue: str, body: Body, *, wait: None, tags: Tags = ..., priority: int = ...,
        notify: Stage | Iterable[Stage] = ..., key: str | None = ..., delay: float | None = ...,
        ttl: float | None = ..., dedupe: str | None = ..., timeout: Limit = ..., **extras: Unpack[PostExtras],
    ) -> None: ...  # fmt: skip

    @overload
    async def post(
        self, queue: str, body: Body, *, wait: Persistence | Literal["assign"] = ..., tags: Tags = ...,
        priority: int = ..., notify: Stage | Iterable[Stage] = ..., key: str | None = ..., delay: float | None = ...,
        ttl: float | None = ..., dedupe: str | None = ..., timeout: Limit = ..., **extras: Unpack[PostExtras],
    ) -> Receipt: ...  # fmt: skip

    @producing
    async def post(
        self,
        queue: str,
        body: Body,
        *,
        tags: Tags = (),
        priority: int = 0,
        wait: Persistence | Literal["assign", "finish"] | None = "sync",
        notify: Stage | Iterable[Stage] = (),
        key: str | None = None,
        delay: float | None = None,
        ttl: float | None = None,
        dedupe: str | None = None,
        timeout: Limit = NotGiven,
        **extras: Unpack[PostExtras],
    ) -> Receipt | bytes | None:
        """Post a message and wait until it is as safe as asked for: on disk, unless told otherwise.

        Returns the receipt, through which the stages of `notify` can be awaited. `wait="finish"` returns the reply of
        whoever finished the message. `wait=None` waits for nothing, and nobody hears if it gets lost on the way.
        """
        if wait is not None and wait != "sync":
            check_choice("wait", wait, WAITED_FOR)
        asked: tuple[Stage, ...] = (notify,) if isinstance(notify, str) else tuple(notify)
        stages = () if wait is None else (wait, *asked) if asked else (wait,)
        followed = bool(asked) or wait in ("assign", "finish")
        if followed:
            may_be_known = dedupe is not None or extras.get("unique") is not None
            stages = self._followed_stages(stages, may_be_known=may_be_known)
        draft = Draft(body=body, priority=priority, key=key, delay=delay, ttl=ttl, dedupe=dedupe, **extras)
        command = self._post(queue, draft, tags, repeatable=wait is not None)
        command.notify = stages
        connection = self._connection
        if wait is None:
            await connection.tell(command, limit(connection, timeout))
            return None
        command.label = connection.new_label()
        repeatable = command.dedupe is not None
        now = connection.loop.time() if connection.is_open else 0.0
        if followed:
            call: PostCall = FollowedPost(command, wait, frozenset(stages), queue=queue, repeatable=repeatable, now=now)
        else:
            call = PostCall(command, wait, queue=queue, repeatable=repeatable, now=now)
        unlimited = wait == "finish" and timeout is NotGiven
        connection.start(call, None if unlimited else limit(connection, timeout))
        return await call.answer

    def _followed_stages(self, stages: tuple[Stage, ...], *, may_be_known: bool) -> tuple[Stage, ...]:
        """The end is asked for, too: otherwise nobody could tell when to stop waiting.

        A post that was not stored, because the broker knows it, hears nothing of an end, but that it was `sync`.
        """
        for stage in stages:
            check_choice("notify", stage, STAGES)
        return tuple(dict.fromkeys((*stages, *(("sync",) if may_be_known else ()), *ENDS)))

    def _post(self, queue: str, draft: Draft, tags: Tags, *, repeatable: bool = True) -> Post:
        check_name("queue", queue)
        if draft.priority:
            check_whole("priority", draft.priority, 0, LARGEST_PRIORITY)
        dedupe = draft.dedupe
        if dedupe is None and repeatable and draft.key is None and self.options.repeat_posts:
            self._posts += 1
            dedupe = f"{self._dedupe}{self._posts}"
        elif dedupe is not None:
            check_short_text("dedupe", dedupe)
        check_short_text("key", draft.key)
        return Post(
            queue=queue,
            message=to_wire("message", draft.body, self.options.max_body_bytes),
            tags=as_tags(tags),
            priority=draft.priority,
            key=draft.key,
            delay=check_seconds("delay", draft.delay),
            ttl=check_seconds("ttl", draft.ttl),
            dedupe=dedupe,
            headers=with_trace(as_headers(draft.headers)),
            group=check_grouping_text("group", draft.group),
            unique=check_grouping_text("unique", draft.unique),
        )

    @producing
    async def post_many(
        self,
        queue: str,
        messages: Drafts,
        *,
        tags: Tags = (),
        window: int = 1000,
        wait: Persistence = "sync",
        on_progress: Progress | None = None,
        timeout: Limit = NotGiven,
    ) -> Posted:
        """Post everything that an iterable, or an asynchronous one, brings: bodies, or `Draft`s that say more.

        At most `window` messages (and 16 MiB) are under way, and each has `timeout` seconds. One that is refused is in
        `errors` of the result, and does not stop the others. `on_progress` is called with the result so far after each
        1,000 messages and at the end.
        """
        check_choice("wait", wait, PERSISTENCES)
        check_whole("window", window, 1, MOST_AT_ONCE)
        if isinstance(messages, str | bytes) or not isinstance(messages, Iterable | AsyncIterable):
            raise BadArgument("messages", f"`messages` must be a list or the like, not {type(messages).__name__}.")
        seconds = limit(self._connection, timeout)
        under_way = Window(window, on_progress)
        place = 0
        async for draft in each(messages):
            await under_way.room()
            try:
                command = self._post(queue, draft, tags)
                command.notify = (wait,)
                command.label = self._connection.new_label()
                call = WindowCall(command, under_way, place, repeatable=command.dedupe is not None)
            except WillowError as error:
                under_way.record(place, error)
            else:
                self._connection.start(call, seconds)
            place += 1
        return await under_way.all_answered()

    @producing
    async def post_to_all(
        self,
        queues: Sequence[str],
        body: Body,
        *,
        tags: Tags = (),
        priority: int = 0,
        delay: float | None = None,
        ttl: float | None = None,
        dedupe: str | None = None,
        timeout: Limit = NotGiven,
        **extras: Unpack[PostExtras],
    ) -> dict[str, Receipt]:
        """Post a message to all of these queues or, if one refuses it, to none. It is on disk at the end."""
        names = tuple(dict.fromkeys(queues))
        if isinstance(queues, str) or not names:
            raise BadArgument("queues", f"`queues` must be a list of names, not {queues!r}.")
        draft = Draft(body=body, priority=priority, delay=delay, ttl=ttl, dedupe=dedupe, **extras)
        command = self._post(names[0], draft, tags)
        return await post_to_several(self._connection, command, names, limit(self._connection, timeout))

    async def result(self, message: MessageName, *, timeout: Limit = NotGiven) -> bytes | None:
        """The reply to a message that was posted before, by its receipt or its (shard, index), once it has ended.

        Its queue must have `keep_replies`. Unlike with `wait="finish"`, the poster may have been restarted meanwhile.
        `Dropped` if the message was given up.
        """
        return await result_of(self._connection, message, limit(self._connection, timeout))

    async def cancel(self, receipt: Receipt, *, timeout: Limit = NotGiven) -> bool:
        """Take back a message that this client posted and that still waits. Returns False if it was too late."""
        if not isinstance(receipt, Receipt):
            raise BadArgument("receipt", f"`receipt` must be what post returned, not {type(receipt).__name__}.")
        command = Cancel(queue=receipt.queue, shard=receipt.shard, index=receipt.index)
        try:
            await self._connection.ask(command, repeatable=True, timeout=limit(self._connection, timeout))
        except NoObject:
            return False
        receipt.taken_back(self._connection)
        return True
