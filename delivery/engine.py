"""The engine of one node: every change of a message's state goes through here, in batches.

posts lane: post          turns lane: finish, fail, keepalive, pop, claim, then the line of workers, in this order
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection

from delivery.admission import Admission
from delivery.delays import Delays
from delivery.endings import Ending, Endings, FailRequest, FinishRequest, KeepaliveRequest
from delivery.lanes import Lane
from delivery.metrics.meters import Moves
from delivery.notices import Notices
from delivery.posting import Copy, PostRequest, insert_copies, queue_is_gone
from delivery.protocol.errors import Code, WillowError
from delivery.serving.assignment import Assignment, WorkersHere
from delivery.stages import FINISH, READY, REQUEST, SYNC, WRITE
from delivery.statements import statement
from delivery.taking import Floors, Taking
from delivery.waiting import AcrossAttempt, ClaimAttempt, Demand, PopAttempt, Waiters


class KeepaliveAllRequest:
    """Everything that a session holds starts its time again."""

    synchronous = False

    def __init__(self, holder: int, answer: Callable[[WillowError | None], None]) -> None:
        self.holder = holder
        self.fail = answer
        self.answer = answer


class Handed:
    """A message that went straight from a post to a waiting pop: it was never stored and has no numbers."""

    sequence = 0
    index = 0
    attempts = 1

    def __init__(self, copy: Copy) -> None:
        self.queue_id = copy.queue.id
        self.priority = copy.request.command.priority
        self.body = copy.request.command.message


class Engine:
    def __init__(
        self,
        *,
        node_id: int,
        node_name: str,
        desk: Lane,
        notices: Notices,
        arrived: Callable[[int, int], None],
        workers: WorkersHere,
        requests_given: Callable[[Iterable[int]], None],
    ) -> None:
        self._node_id = node_id
        self._node_name = node_name
        self._notices = notices
        self._arrived = arrived  # messages of a queue may be taken: tell everyone who waits
        self._floors = Floors()
        self._posts_under_way: Counter[int] = Counter()  # by queue
        self._copies_under_way = 0
        self._desk = desk
        self.moves = Moves()
        taking = Taking(node_id=node_id, node_name=node_name, notices=notices, floors=self._floors, moves=self.moves)
        endings = Endings(
            node_id=node_id,
            node_name=node_name,
            notices=notices,
            became_ready=self._came_back,
            moves=self.moves,
        )
        self.assignment = Assignment(
            node_id=node_id,
            endings=endings,
            notices=notices,
            submit=lambda request: self.turns.submit(request),
            workers=workers,
            given_elsewhere=requests_given,
            moves=self.moves,
        )
        size = settings.WILLOW.batch_size
        self.posts = Lane("posts", {PostRequest: self._run_posts}, batch_size=size)
        self.turns = Lane(
            "turns",
            {
                FinishRequest: endings.run_finishes,
                FailRequest: endings.run_fails,
                KeepaliveRequest: endings.run_keepalives,
                KeepaliveAllRequest: self._run_keepalive_all,
                PopAttempt: taking.run_pops,
                ClaimAttempt: taking.run_claims,
                AcrossAttempt: taking.run_across,
                **self.assignment.runners(),
            },
            batch_size=size,
        )
        self.waiters = Waiters(self.turns.submit)
        self.delays = Delays(desk, self.became_ready)

    @property
    def commands_under_way(self) -> int:
        return self._copies_under_way + self.waiters.count

    def post(self, request: PostRequest) -> None:
        if self._hand_straight_over(request):
            return
        if self._copies_under_way >= settings.WILLOW.node_commands:
            request.fail(node_is_overloaded())
            return
        self._copies_under_way += len(request.copies)
        for copy in request.copies:
            self._posts_under_way[copy.queue.id] += 1
        request.settled = self._settled
        if self.posts.connected.is_set():
            request.poster.post_accepted(request)
        self.posts.submit(request)

    def _settled(self, request: PostRequest) -> None:
        self._copies_under_way -= len(request.copies)
        for copy in request.copies:
            self._posts_under_way[copy.queue.id] -= 1

    def end(self, request: Ending | KeepaliveAllRequest) -> None:
        self.turns.submit(request)

    def take(self, demand: Demand, wait_seconds: float) -> None:
        if self.waiters.paused:
            demand.reader.demand_failed(demand, node_is_stopping())
            return
        if self.waiters.count >= settings.WILLOW.node_commands:
            demand.reader.demand_failed(demand, node_is_overloaded())
            return
        if wait_seconds > 0:
            self.waiters.wait_until_timeout(demand, wait_seconds)
        self.waiters.add(demand)

    def became_ready(self, queue_id: int, messages: int = 1) -> None:
        """Messages of a queue may be taken now that could not before, on this node's account."""
        self._floors.forget(queue_id)
        self._arrived(queue_id, messages)

    def _came_back(self, queue_id: int, delay: float) -> None:
        if delay > 0:
            self.delays.expect(queue_id, delay)
        else:
            self.became_ready(queue_id)

    def _hand_straight_over(self, request: PostRequest) -> bool:
        """Fast pop: a pop waits, nothing is ahead of this message, and its poster did not ask to see it stored."""
        command, copy = request.command, request.copies[0]
        asked_to_store = request.notify & (WRITE | SYNC) and not request.notify & (READY | FINISH)
        if request.notify & REQUEST:  # a frontend awaits a reply, and a pop gives none
            return False
        if not request.is_plain or command.delay or asked_to_store or copy.queue.paused or copy.queue.is_stream:
            return False
        if self._posts_under_way[copy.queue.id]:
            return False
        demand = self.waiters.waiting_pop(copy.queue.id)
        if demand is None:
            return False
        self.waiters.remove(demand)
        self.moves.handed_over += 1
        demand.reader.take(demand, [Handed(copy)])
        request.poster.post_handed_over(request)
        return True

    async def _run_posts(self, connection: AsyncConnection[Any], requests: list[PostRequest]) -> None:
        if plain := all(request.is_plain for request in requests):
            missing = await insert_copies(connection, [request.copies[0] for request in requests], self._node_id)
            refused = {copy.request: queue_is_gone(copy.queue) for copy in missing}
        else:
            async with connection.transaction():
                admission = Admission(connection, requests, self._node_id, self._node_name)
                await admission.admit()
            refused = admission.refused
            self.moves.dropped += len(admission.dropped)
            for row in admission.dropped:
                self._notices.tell(row, "drop")
        stored = [request for request in requests if request not in refused]
        self.moves.posted += len(stored) if plain else sum(len(request.copies) for request in stored)
        self._announce(stored)
        for request in stored:
            request.store_done()
        for request, error in refused.items():
            request.fail(error)

    def _announce(self, stored: list[PostRequest]) -> None:
        """Wake whoever waits for what was just stored."""
        arrived: Counter[int] = Counter()
        for request in stored:
            for copy in request.copies:
                if request.command.delay:
                    self.delays.expect(copy.queue.id, request.command.delay)
                else:
                    arrived[copy.queue.id] += 1
                    self._floors.lower_to(copy.queue.id, -request.command.priority)
        for queue_id, messages in arrived.items():
            self._arrived(queue_id, messages)

    async def _run_keepalive_all(self, connection: AsyncConnection[Any], requests: list[KeepaliveAllRequest]) -> None:
        await connection.execute(statement("restart_leases"), {"holder": [request.holder for request in requests]})
        for request in requests:
            request.answer(None)


def node_is_overloaded() -> WillowError:
    most = settings.WILLOW.node_commands
    return WillowError(Code.OVERLOADED, "node", f"This node has {most} commands under way already. Please try again.")


def node_is_stopping() -> WillowError:
    return WillowError(Code.UNAVAILABLE, "node", "This node is stopping. Please connect to another one.")
