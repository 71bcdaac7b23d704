"""The engine of one node: what its clients do to messages is done here, in batches, by the moves of delivery/moves/.

The lanes *posts* and *large posts* store. The lane *claims* runs finish, fail, keepalive, release, cancel, pop and
claim, then the line of workers, in this order.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection
from psycopg.errors import UniqueViolation

from delivery.engine.assignment import Assignment, WorkersHere
from delivery.engine.backlog import Backlog
from delivery.engine.claims import ClaimRunner
from delivery.engine.demands import Demand
from delivery.engine.floors import Floors
from delivery.engine.groups import Groups
from delivery.engine.handover import Handover
from delivery.engine.limits import Limits
from delivery.engine.open_reads import OpenReads
from delivery.engine.post_lanes import LARGE_BATCH_BYTES, SMALL_BATCH_BYTES, PostLanes, messages_in
from delivery.engine.transactional_posts import MoveRequest, TransactionalPosts
from delivery.engine.waiters import AcrossAttempt, ClaimAttempt, LimitedAttempt, PopAttempt, Waiters
from delivery.moves.admission import Admission
from delivery.moves.cancelling import CancelRequest, answer_cancels, cancel
from delivery.moves.endings import (
    Ending,
    Endings,
    FailRequest,
    Failures,
    FinishRequest,
    KeepaliveRequest,
    ReleaseRequest,
)
from delivery.moves.free_ids import FreeIds
from delivery.moves.leases import restart_leases
from delivery.moves.notices import Notices
from delivery.moves.posting import (
    HAS_DEDUPE,
    IN_GROUP,
    NEEDS_A_LOOK,
    Copy,
    PostRequest,
    insert_copies,
    queue_is_gone,
    store_in_groups,
    traits_of,
)
from delivery.moves.service_names import is_service_queue
from delivery.protocol.errors import Code, WillowError
from delivery.storage.after_commit import AfterCommit, for_each, guarded
from delivery.storage.lanes import Lane
from delivery.storage.meters import Moves
from delivery.storage.statement_connection import StatementConnection
from delivery.wakeups.delays import Delays
from delivery.wakeups.expiries import Expiries
from queues.definitions import QueueRecord

# Into queues, by the claims of one batch; places that are to be filled weigh, too. One that weighs more goes alone.
LOOKS_AT_ONCE = 512


class KeepaliveAllRequest:
    """Everything that a session holds starts its time again."""

    synchronous = False
    weight = 0

    def __init__(self, holder: int, queue_ids: Iterable[int], answer: Callable[[WillowError | None], None]) -> None:
        self.holder = self.source = holder
        self.queue_ids = frozenset(queue_ids)  # of what it holds
        self.fail = answer
        self.answer = answer


class Engine:
    def __init__(
        self,
        *,
        node_id: int,
        node_name: str,
        jobs: Lane,
        notices: Notices,
        arrived: Callable[[int, int], None],
        workers: WorkersHere,
        requests_given: Callable[[Iterable[int]], None],
        in_doubt: Callable[[int], None],
        queue: Callable[[int], QueueRecord | None],
    ) -> None:
        self._node_id = node_id
        self._node_name = node_name
        self._notices = notices
        self._arrived = arrived  # called when messages of a queue can be taken: it tells everyone who waits
        self._floors = Floors()
        self._free_ids = FreeIds()
        self.backlog = Backlog()
        self.moves = Moves()
        self._queue = queue
        self.limits = Limits(queue, next_is_due=self._rate_allows_more, places_are_free=self.became_ready)
        self.groups = Groups(jobs, self.became_ready)
        claim_runner = ClaimRunner(
            node_id=node_id,
            node_name=node_name,
            notices=notices,
            floors=self._floors,
            backlog=self.backlog,
            moves=self.moves,
            tell_posters=self._tell_of_posts,
            free_ids=self._free_ids,
            limits=self.limits,
            groups_touched=self.groups.settle_soon,
        )
        endings = Endings(
            node_id=node_id,
            node_name=node_name,
            notices=notices,
            became_ready=self._came_back,
            claims_ended=self.limits.claims_ended,
            moves=self.moves,
            free_ids=self._free_ids,
            has_groups=self.limits.apply_to_groups,
            groups_touched=self.groups.settle_soon,
        )
        self.assignment = Assignment(
            node_id=node_id,
            endings=endings,
            notices=notices,
            submit=lambda request: self.claims.submit(request),
            workers=workers,
            given_elsewhere=requests_given,
            moves=self.moves,
            limits=self.limits,
        )
        size = settings.WILLOW.batch_size
        from_transactions = TransactionalPosts(node_id=node_id, node_name=node_name, stored=self._after_admission)
        self.posts = Lane(
            "posts",
            {PostRequest: self._run_posts, MoveRequest: from_transactions.run},
            batch_size=size,
            batch_weight=SMALL_BATCH_BYTES,
            messages_in=messages_in,
            opened=self._free_ids.forget_all,
        )
        self.large_posts = Lane(
            "large posts",
            {PostRequest: partial(self._run_posts, hands_over=False)},
            batch_size=size,
            batch_weight=LARGE_BATCH_BYTES,
            messages_in=messages_in,
            sends_much=True,
            rests=(PostRequest,),
            opened=self._free_ids.forget_all,
        )
        self._post_lanes = PostLanes(self.posts, self.large_posts)
        self.claims = Lane(
            "claims",
            {
                FinishRequest: endings.run_finishes,
                FailRequest: endings.run_fails,
                KeepaliveRequest: endings.run_keepalives,
                ReleaseRequest: endings.run_releases,
                CancelRequest: self._run_cancels,
                KeepaliveAllRequest: self._run_keepalive_all,
                PopAttempt: claim_runner.run_pops,
                ClaimAttempt: claim_runner.run_claims,
                LimitedAttempt: claim_runner.run_limited,
                AcrossAttempt: claim_runner.run_across,
                **self.assignment.runners(),
            },
            batch_size=size,
            batch_weight=LOOKS_AT_ONCE,
        )
        self._reads = OpenReads(settings.WILLOW.node_commands)
        self.waiters = Waiters(self.claims.submit, self.backlog, in_doubt, self.limits, self._reads)
        self._handover = Handover(node_id=node_id, waiters=self.waiters, notices=notices, backlog=self.backlog)
        self.delays = Delays(jobs, self._came_due)
        self.expiries = Expiries(
            jobs,
            node_id=node_id,
            node_name=node_name,
            announce=lambda buried: endings.announce(Failures([], buried)),
        )

    @property
    def commands_under_way(self) -> int:
        return self._post_lanes.copies + self.waiters.count

    @property
    def post_bytes_under_way(self) -> int:
        return self._post_lanes.bytes

    def post(self, request: PostRequest) -> None:
        goes_first = not self._post_lanes.is_on_its_way_to(request.copies[0].queue.id)
        if goes_first and self._handover.to_a_pop(request):
            self.moves.handed_over += 1
        elif (refusal := self._post_lanes.refusal(request)) is not None:
            request.fail(refusal)
        else:
            self._post_lanes.submit(request)

    def keep(self, size: int, by_client: int) -> None:
        """Count the body of a reply with those of posts, or refuse it. `by_client`: what it has under way already."""
        if (refusal := self._post_lanes.refusal_of_bytes(size, by_client)) is not None:
            raise refusal
        self._post_lanes.bytes += size

    def let_go_of(self, size: int) -> None:
        self._post_lanes.bytes -= size

    def _tell_of_posts(self) -> None:
        self.posts.tell()
        self.large_posts.tell()

    def forget(self, queue_id: int) -> None:
        """The queue was deleted, or what is known of its messages may be wrong."""
        self._free_ids.forget(queue_id)
        self.backlog.forget(queue_id)
        self._floors.remove(queue_id)

    def end(self, request: Ending | KeepaliveAllRequest | CancelRequest) -> None:
        self.claims.submit(request)

    def take(self, demand: Demand, wait_seconds: float, *, has_few: bool = False) -> None:
        """`has_few`: its connection has so few fetches and pops that it is not refused because others have many."""
        if self.waiters.paused:
            demand.reader.demand_failed(demand, node_is_stopping())
            return
        if not has_few and (refusal := self._reads.refusal(demand.caller)) is not None:
            demand.reader.demand_failed(demand, refusal)
            return
        if wait_seconds > 0:
            self.waiters.wait_until_timeout(demand, wait_seconds)
        self.waiters.add(demand)

    def became_ready(self, queue_id: int, messages: int = 1) -> None:
        """This node has made messages of a queue ready that were not."""
        self._floors.forget(queue_id)
        self.backlog.something_came(queue_id)
        self._arrived(queue_id, messages)

    def _came_due(self, queue_id: int) -> None:
        self.became_ready(queue_id)
        if self.limits.apply_to_groups(queue_id):
            self.groups.settle_soon()

    def _rate_allows_more(self, queue_id: int) -> None:
        self.backlog.something_came(queue_id)
        self.waiters.wake(queue_id)
        queue = self._queue(queue_id)
        if queue is not None and is_service_queue(queue.name):
            self.assignment.assign_soon(queue_id)

    def _came_back(self, queue_id: int, delay: float) -> None:
        if delay > 0:
            self.delays.expect(queue_id, delay)
        else:
            self.became_ready(queue_id)

    async def _run_posts(
        self, connection: StatementConnection, requests: list[PostRequest], *, hands_over: bool = True
    ) -> AfterCommit:
        traits = traits_of(requests)
        once = bool(traits & HAS_DEDUPE)
        if not (traits & NEEDS_A_LOOK or (once and _a_text_comes_twice(requests))):
            with suppress(UniqueViolation):  # a dedupe text is known, or was until lately: it takes a closer look
                if traits & IN_GROUP:
                    return await self._store_in_groups(connection, requests, once=once)
                return await self._store_plain(connection, requests, hands_over, once=once)
        async with connection.transaction():
            admission = Admission(connection, requests, self._node_id, self._node_name, self._free_ids)
            await admission.admit()
        return self._after_admission(admission, requests)

    def _after_admission(self, admission: Admission, requests: list[PostRequest]) -> AfterCommit:
        stored = [request for request in requests if request not in admission.refused]
        copies = [copy for request in stored for copy in request.copies]
        self.moves.dropped += len(admission.dropped)
        self.moves.posted += len(copies)
        return AfterCommit(
            partial(self._free_ids.give, admission.dropped, admission.began),
            partial(self._notices.tell_each, admission.dropped, "drop"),
            # Some of the copies replaced another message, or were there already.
            partial(for_each, lambda copy: self.backlog.something_came(copy.queue.id), copies),
            partial(self._announce, copies),
            partial(self.groups.promoted, admission.promoted),
            *([self.groups.settle_soon] if admission.left_groups else ()),
            later=[partial(_tell_posters, stored, admission.refused)],
        )

    async def _store_in_groups(
        self, connection: StatementConnection, requests: list[PostRequest], *, once: bool
    ) -> AfterCommit:
        copies = [request.copies[0] for request in requests]
        inserted, promoted = await store_in_groups(connection, copies, self._node_id, self._free_ids, once=once)
        refused = {copy.request: queue_is_gone(copy.queue) for copy in inserted.missing}
        stored = [copy for copy in copies if copy.request not in refused]
        self.moves.posted += len(stored)
        return AfterCommit(
            # Some of them wait behind others of their group, and are not to be counted as ready.
            partial(for_each, lambda copy: self.backlog.something_came(copy.queue.id), stored),
            partial(self._announce, stored),
            partial(self.groups.promoted, promoted),
            later=[partial(_tell_posters, [copy.request for copy in stored], refused)],
        )

    async def _store_plain(
        self, connection: AsyncConnection[Any], requests: list[PostRequest], hands_over: bool, *, once: bool
    ) -> AfterCommit:
        copies = [request.copies[0] for request in requests]
        flushed = any(request.synchronous for request in requests)
        places = self._handover.keep_places(copies, flushed=flushed) if hands_over else {}
        try:
            inserted = await insert_copies(connection, copies, self._node_id, places, self._free_ids, once=once)
        except BaseException:
            for copy in copies:  # they may be stored although we were not told
                self.backlog.something_came(copy.queue.id)
            self._handover.give_up(places)
            raise
        refused = {copy.request: queue_is_gone(copy.queue) for copy in inserted.missing}
        stored = [copy for copy in copies if copy.request not in refused] if refused else copies
        self.moves.posted += len(stored)
        self.moves.claimed += len(inserted.claimed)
        return AfterCommit(
            # On two lanes, posts to one queue may be over in another order than that of their indexes.
            partial(self._note_newest if hands_over else self._note_surprise, stored),
            partial(self._announce, [copy for copy in stored if copy not in inserted.claimed] if places else stored),
            later=[
                partial(_tell_posters, [copy.request for copy in stored], refused),
                partial(self._handover.hand_out, places, inserted.claimed),
            ],
        )

    def _note_surprise(self, stored: list[Copy]) -> None:
        for_each(self.backlog.something_came, {copy.queue.id for copy in stored})

    def _note_newest(self, stored: list[Copy]) -> None:
        for queue_id, newest in {copy.queue.id: copy.index for copy in stored}.items():
            guarded(self.backlog.newest_is, queue_id, newest)

    def _announce(self, stored: list[Copy]) -> None:
        """Wake those who wait for what was just stored."""
        alike = Counter((copy.queue.id, copy.request.command.priority, copy.request.command.delay) for copy in stored)
        arrived: Counter[int] = Counter()
        for (queue_id, priority, delay), messages in alike.items():
            if delay:
                guarded(self.delays.expect, queue_id, delay)
            else:
                guarded(self._floors.lower_to, queue_id, -priority)
                arrived[queue_id] += messages
        for queue_id, messages in arrived.items():
            guarded(self.backlog.stored, queue_id, messages)
            guarded(self._arrived, queue_id, messages)

    async def _run_keepalive_all(
        self, connection: AsyncConnection[Any], requests: list[KeepaliveAllRequest]
    ) -> AfterCommit:
        queue_ids = set().union(*(request.queue_ids for request in requests))
        await restart_leases(connection, [request.holder for request in requests], queue_ids)
        return AfterCommit(partial(for_each, lambda request: request.answer(None), requests))

    async def _run_cancels(self, connection: AsyncConnection[Any], requests: list[CancelRequest]) -> AfterCommit:
        moment = self._free_ids.moment
        cancelled = await cancel(connection, requests, node_id=self._node_id, node_name=self._node_name)
        self.moves.dropped += len(cancelled)
        if any(self.limits.apply_to_groups(row.queue_id) for row in cancelled):
            self.groups.settle_soon()
        return AfterCommit(
            partial(self._free_ids.give, cancelled, moment), partial(answer_cancels, requests, cancelled)
        )


def _a_text_comes_twice(requests: Sequence[PostRequest]) -> bool:
    texts = [
        (request.copies[0].queue.id, request.command.dedupe)
        for request in requests
        if request.command.dedupe is not None
    ]
    return len(set(texts)) < len(texts)


def node_is_stopping() -> WillowError:
    return WillowError(Code.UNAVAILABLE, "node", "This node is stopping. Please connect to another one.")


def _tell_posters(stored: Iterable[PostRequest], refused: Mapping[PostRequest, WillowError]) -> None:
    for_each(PostRequest.store_done, stored)
    for request, error in refused.items():
        guarded(request.fail, error)
