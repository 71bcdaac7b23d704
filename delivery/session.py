"""One connection's state: what it posted, what it waits for, what it holds.

Commands never wait for each other, except that a fetch or pop follows the posts of its own connection to that queue.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.conf import settings

from clients.models import Permission
from clients.principal import Principal
from delivery.directory import default_match
from delivery.endings import FailRequest, FinishRequest, KeepaliveRequest, message_key
from delivery.engine import KeepaliveAllRequest
from delivery.posting import PostRequest
from delivery.protocol.errors import Code, FrameError, WillowError
from delivery.protocol.fields import Stage
from delivery.protocol.frames import (
    Command,
    Create,
    Error,
    Fail,
    Fetch,
    Finish,
    Frame,
    Keepalive,
    Message,
    NoMessage,
    Notice,
    Pop,
    Post,
    QueueInfo,
)
from delivery.stages import FINISH, READY, SYNC, WRITE
from delivery.states import Reason
from delivery.waiting import Demand
from queues.definitions import SETTING_NAMES, QueueRecord, tag_set

if TYPE_CHECKING:
    from delivery.node import Node

logger = logging.getLogger(__name__)

LARGEST_NUMBER = 2**63 - 1  # what PostgreSQL's bigint holds: no shard, sequence or index is ever larger


class Session:
    def __init__(self, node: "Node", principal: Principal, send: Callable[[Frame], None]) -> None:
        self.node = node
        self.principal = principal
        self.send = send
        self.session_id = 0  # given when the session is opened or resumed
        self.hold_seconds = 0.0
        self.closed = False
        self.under_way = 0
        self.claims: dict[tuple[int, int], int] = {}  # (shard, sequence) -> index
        self._demands: set[Demand] = set()
        self._posts_to: Counter[str] = Counter()  # posts under way, by queue name
        self._after_posts: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)

    @property
    def client_name(self) -> str | None:
        return self.principal.client_name

    def reads(self) -> set[int]:
        """The queues whose messages this session waits for or holds."""
        waited_for = {queue.id for demand in self._demands for queue in demand.queues}
        return waited_for | {queue_id for queue_id, _ in self.claims}

    def handle(self, commands: Iterable[Command | FrameError]) -> None:
        for command in commands:
            if isinstance(command, FrameError):
                self.refuse(command.label, command)
                continue
            try:
                handler = _HANDLERS.get(type(command))
                if handler is None:
                    raise WillowError(Code.BAD_REQUEST, "type", "This broker does not know this command yet.")
                handler(self, command)
            except WillowError as error:
                self.refuse(getattr(command, "label", None), error)

    def refuse(self, label: int | None, error: WillowError) -> None:
        self.send(Error(label, error.code, error.key, error.message))

    def require(self, permission: Permission, queue_name: str) -> None:
        if not self.principal.may(permission.value, queue_name):
            reason = f"Your key does not grant `{permission.value}` on {queue_name}."
            raise WillowError(Code.PERMISSION_DENIED, queue_name, reason)

    # post

    def on_post(self, command: Post) -> None:
        for name in command.queues:
            self.require(Permission.POST, name)
        tags = tag_set(command.tags) if command.tags else ()
        names = command.queues if len(command.queues) == 1 else tuple(dict.fromkeys(command.queues))
        self.under_way += 1
        for name in names:
            self._posts_to[name] += 1
        self._find_and_post(command, names, tags, [])

    def _find_and_post(
        self, command: Post, names: tuple[str, ...], tags: tuple[str, ...], found: list[QueueRecord]
    ) -> None:
        """Find the queues one after the other, then post to all of them."""
        directory = self.node.directory
        while len(found) < len(names):
            name = names[len(found)]
            queue = directory.known(name, tags)
            if queue is None:
                directory.resolve(
                    name,
                    tags,
                    "exact",
                    lambda queues: self._find_and_post(command, names, tags, [*found, *queues]),
                    lambda error: self._post_ended(command, names, error),
                )
                return
            found.append(queue)
        self.node.engine.post(PostRequest(self, command, found))
        # The lane answers later, even when it refuses; a post that is refused at once has had its answer.

    def post_accepted(self, request: PostRequest) -> None:
        if request.notify & READY:
            self.send(Notice(request.command.label, "ready"))

    def post_stored(self, request: PostRequest) -> None:
        several = len(request.copies) > 1
        stages: list[Stage] = [stage for bit, stage in ((WRITE, "write"), (SYNC, "sync")) if request.notify & bit]
        for copy in request.copies if stages else ():
            name = copy.queue.name if several else None
            for stage in stages:
                self.send(Notice(request.command.label, stage, copy.queue.id, copy.sequence, copy.index, name))
        self._post_ended(request.command, [copy.queue.name for copy in request.copies])

    def post_handed_over(self, request: PostRequest) -> None:
        if request.notify & (READY | FINISH):
            self.send(Notice(request.command.label, "finish", request.copies[0].queue.id, 0, 0))
        self._post_ended(request.command, [request.copies[0].queue.name])

    def post_failed(self, request: PostRequest, error: WillowError) -> None:
        if error.code == Code.NO_OBJECT:
            for copy in request.copies:
                self.node.directory.forget(copy.queue.id)
        self._post_ended(request.command, [copy.queue.name for copy in request.copies], error)

    def _post_ended(self, command: Post, names: Iterable[str], error: WillowError | None = None) -> None:
        if error is not None:
            self.refuse(command.label, error)
        self.ended()
        for name in names:
            self._posts_to[name] -= 1
            if not self._posts_to[name]:
                del self._posts_to[name]
                for action in self._after_posts.pop(name, ()):
                    action()

    # fetch and pop

    def on_fetch(self, command: Fetch) -> None:
        self._read(
            command,
            waits=command.block_timeout,
            work_timeout=command.work_timeout,
            synchronous=command.sync == "sync",
        )

    def on_pop(self, command: Pop) -> None:
        self._read(command, waits=command.timeout or 0.0, pops=True)

    def _read(self, command: Fetch | Pop, *, waits: float, **how: Any) -> None:
        self.require(Permission.FETCH, command.queue)
        if len(self._demands) >= settings.WILLOW.connection_commands:
            reason = f"This connection has {len(self._demands)} fetches and pops waiting already."
            raise WillowError(Code.OVERLOADED, "connection", reason)
        tags = tag_set(command.tags)
        match = command.match or default_match(tags)

        def found(queues: list[QueueRecord]) -> None:
            work_queues = [queue for queue in queues if not queue.is_stream]
            if queues and not work_queues:
                self.refuse(command.label, stream_needs_subscription(command.queue))
                return
            places = command.count or 1
            demand = Demand(self, command.label, work_queues, places=places, in_turns=match == "any", **how)
            self._demands.add(demand)
            self.node.engine.take(demand, waits)

        def look() -> None:
            if not self.closed:
                self.node.directory.resolve(
                    command.queue, tags, match, found, lambda error: self.refuse(command.label, error)
                )

        if command.queue in self._posts_to:
            self._after_posts[command.queue].append(look)
        else:
            look()

    def take(self, demand: Demand, messages: Sequence[Any]) -> None:
        self._demands.discard(demand)
        if self.closed and not demand.pops:
            self._give_back((row.queue_id, row.sequence, row.index) for row in messages)
            return
        directory = self.node.directory
        for row in messages:
            queue = directory.by_id(row.queue_id)
            if not demand.pops:
                self.claims[row.queue_id, row.sequence] = row.index
            self.send(
                Message(
                    demand.label, row.queue_id, row.sequence, row.body, demand.pops,
                    queue.name if queue else "", queue.tags if queue else (), row.index, row.attempts, row.priority,
                )  # fmt: skip
            )

    def went_empty(self, demand: Demand) -> None:
        self._demands.discard(demand)
        self.send(NoMessage(demand.label))

    def demand_failed(self, demand: Demand, error: WillowError) -> None:
        self._demands.discard(demand)
        self.refuse(demand.label, error)

    # finish, fail, keepalive

    def on_finish(self, command: Finish) -> None:
        self._end(command, FinishRequest, synchronous=command.response == "sync", reply=command.reply)

    def on_fail(self, command: Fail) -> None:
        self._end(
            command,
            FailRequest,
            synchronous=command.response == "sync",
            reason=Reason.FAILED.value,
            error=command.error,
            delay=command.delay,
        )

    def _end(self, command: Finish | Fail, kind: type[FinishRequest] | type[FailRequest], **how: Any) -> None:
        self._check_claim(command)
        claim = (command.shard, command.sequence)

        def answer(error: WillowError | None) -> None:
            self.ended()
            if error is not None:
                self.refuse(command.label, error)
                return
            index = self.claims.pop(claim, command.index)
            if command.response is not None:
                self.send(Notice(command.label, command.response, *claim, index))

        self.under_way += 1
        self.node.engine.end(
            kind(
                queue_id=command.shard,
                sequence=command.sequence,
                index=command.index,
                holder=self.session_id,
                client=self.client_name,
                answer=answer,
                **how,
            )
        )

    def on_keepalive(self, command: Keepalive) -> None:
        def answer(error: WillowError | None) -> None:
            self.ended()
            if error is not None:
                self.refuse(command.label, error)
            elif command.label is not None:
                self.send(Notice(command.label, "keepalive", command.shard, command.sequence, command.index))

        if command.shard is None or command.sequence is None:
            self.under_way += 1
            self.node.engine.end(KeepaliveAllRequest(self.session_id, answer))
            return
        self._check_claim(command)
        self.under_way += 1
        self.node.engine.end(
            KeepaliveRequest(
                queue_id=command.shard,
                sequence=command.sequence,
                index=command.index,
                holder=self.session_id,
                answer=answer,
            )
        )

    def _check_claim(self, command: Finish | Fail | Keepalive) -> None:
        """Refuse at once what cannot be a claim of anybody: wrong name for the shard, impossible numbers."""
        assert command.queue is not None
        self.require(Permission.FETCH, command.queue)
        queue = self.node.directory.by_id(command.shard or 0)
        numbers = (command.shard, command.sequence, command.index)
        if (queue is not None and queue.name != command.queue) or any((n or 0) > LARGEST_NUMBER for n in numbers):
            key = message_key(command.shard or 0, command.sequence or 0)
            raise WillowError(Code.NO_OBJECT, key, f"There is no message {key} in the queue {command.queue}.")

    # create

    def on_create(self, command: Create) -> None:
        self.require(Permission.CREATE, command.queue)
        chosen = {name: getattr(command, name) for name in SETTING_NAMES}
        self.under_way += 1

        def created(queue: QueueRecord, is_new: bool) -> None:
            self.ended()
            self.send(queue_info(command.label, queue, is_new))
            if is_new:
                self.node.hints.queues_defined()

        def failed(error: WillowError) -> None:
            self.ended()
            self.refuse(command.label, error)

        self.node.directory.create(command.queue, tag_set(command.tags), chosen, created, failed)

    # the end

    def ended(self) -> None:
        """A command that was under way has its answer."""
        self.under_way -= 1
        if self.when_less is not None:
            self.when_less()

    when_less: Callable[[], None] | None = None

    def close(self) -> None:
        """The socket is gone: nothing more is taken, and what is held fails unless the client asked to hold it."""
        self.closed = True
        for demand in self._demands:
            self.node.engine.waiters.remove(demand)
        if self.node.draining:
            self.node.leave(self)
        elif self.hold_seconds > 0:
            self.node.hold(self)
        else:
            self._give_back((queue_id, sequence, index) for (queue_id, sequence), index in self.claims.items())
            self.node.end(self)

    def _give_back(self, claims: Iterable[tuple[int, int, int]]) -> None:
        for queue_id, sequence, index in claims:
            self.node.engine.end(
                FailRequest(
                    queue_id=queue_id,
                    sequence=sequence,
                    index=index,
                    holder=self.session_id,
                    client=self.client_name,
                    reason=Reason.DISCONNECTED.value,
                    answer=_nobody_is_there,
                )
            )


def _nobody_is_there(error: WillowError | None) -> None:
    """The client has gone; a claim that could not be given back runs out and is found by the reaper."""


def stream_needs_subscription(name: str) -> WillowError:
    return WillowError(Code.BAD_REQUEST, "queue", f"The queue {name} is a stream: it is read by `subscribe`.")


def queue_info(label: int | None, queue: QueueRecord, created: bool) -> QueueInfo:
    return QueueInfo(
        label=label,
        name=queue.name,
        tags=queue.tags,
        shard=queue.id,
        created=created,
        paused=queue.paused,
        **{name: getattr(queue.settings, name) for name in SETTING_NAMES},
    )


_HANDLERS: dict[type[Command], Callable[[Session, Any], None]] = {
    Post: Session.on_post,
    Pop: Session.on_pop,
    Fetch: Session.on_fetch,
    Finish: Session.on_finish,
    Fail: Session.on_fail,
    Keepalive: Session.on_keepalive,
    Create: Session.on_create,
}
