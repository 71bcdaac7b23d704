"""From a post straight to a reader that waits, if nothing is ahead of the message.

A waiting pop gets a message that is never stored. For a waiting fetch or subscription the statement that stores the
message claims it too (docs/decisions/claimed-as-it-is-stored.md).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from delivery.engine.backlog import Backlog
from delivery.engine.waiters import ClaimAttempt, Waiters
from delivery.moves.notices import Notices
from delivery.moves.posting import Copy, PostRequest
from delivery.storage.after_commit import guarded
from delivery.storage.vocabulary import FINISH, READY, REQUEST, SYNC, WRITE


class HandedOver:
    """A message as its reader gets it, without a statement that finds it."""

    attempts = 1

    def __init__(self, copy: Copy, *, node_id: int, work_timeout: float = 0.0) -> None:
        request, command = copy.request, copy.request.command
        self.poster = request.poster.session_id
        self.poster_node: int | None = node_id
        self.label = request.label
        self.notify = request.notify
        self.queue_id = copy.queue.id
        self.sequence = copy.sequence
        self.index = copy.index
        self.priority = command.priority
        self.body = command.message
        self.headers = request.headers
        self.group_key = command.group
        self.work_timeout = work_timeout


class ReservedPlace:
    """A place of a reader that waits, reserved for a message that is being stored."""

    __slots__ = ("attempt", "index_before", "session_id", "work_timeout")

    def __init__(self, attempt: ClaimAttempt, index_before: int) -> None:
        self.attempt = attempt
        self.index_before = index_before
        self.session_id = attempt.demand.reader.session_id
        self.work_timeout = attempt.demand.work_timeout


class Handover:
    def __init__(self, *, node_id: int, waiters: Waiters, notices: Notices, backlog: Backlog) -> None:
        self._node_id = node_id
        self._waiters = waiters
        self._notices = notices
        self._backlog = backlog

    def to_a_pop(self, request: PostRequest) -> bool:
        """Fast pop: a pop waits, and the message's poster did not ask to see it stored."""
        copy = request.copies[0]
        demand = self._waiters.waiting_pop(copy.queue.id)
        if demand is None or not _may_be_handed_over(copy):
            return False
        if request.command.dedupe is not None:  # it is remembered with the message that it stands for
            return False
        if request.notify & (WRITE | SYNC) and not request.notify & (READY | FINISH):
            return False
        self._waiters.remove(demand)
        demand.reader.take(demand, [HandedOver(copy, node_id=self._node_id)])
        request.poster.post_handed_over(request)
        return True

    def keep_places(self, copies: Sequence[Copy], *, flushed: bool) -> dict[Copy, ReservedPlace]:
        """Places for messages that are about to be stored in queues where nothing is ahead of them."""
        places: dict[Copy, ReservedPlace] = {}
        by_queue: dict[int, list[Copy]] = defaultdict(list)
        for copy in copies:
            if self._waiters.is_waited_for(copy.queue.id):
                by_queue[copy.queue.id].append(copy)
        for queue_id, arriving in by_queue.items():
            index_before = self._backlog.newest(queue_id)
            if index_before is None or not _go_in_their_order(arriving):
                continue
            kept = self._waiters.keep_places(queue_id, len(arriving), flushed=flushed)
            attempts = (attempt for attempt in kept for _ in range(attempt.places))
            places |= {
                copy: ReservedPlace(attempt, index_before) for copy, attempt in zip(arriving, attempts, strict=False)
            }
        return places

    def hand_out(self, places: Mapping[Copy, ReservedPlace], claimed: Mapping[Copy, float]) -> None:
        """Give the messages that were claimed to their readers. The other places stay free."""
        taken: dict[ClaimAttempt, list[HandedOver]] = defaultdict(list)
        for copy, place in places.items():
            messages = taken[place.attempt]
            if copy in claimed:
                message = HandedOver(copy, node_id=self._node_id, work_timeout=claimed[copy])
                messages.append(message)
                guarded(self._notices.tell, message, "assign")
        for attempt, messages in taken.items():
            guarded(partial(attempt.settle, messages, more_may_wait=len(messages) < attempt.places))

    def give_up(self, places: Mapping[Copy, ReservedPlace]) -> None:
        self._waiters.places_given_up({place.attempt for place in places.values()})


def _may_be_handed_over(copy: Copy) -> bool:
    request, queue = copy.request, copy.queue
    if request.notify & REQUEST:  # requests go to the worker that has waited longest
        return False
    return request.is_plain and not (request.command.delay or queue.paused or queue.is_stream)


def _go_in_their_order(arriving: Sequence[Copy]) -> bool:
    """Whether readers would take them in the order in which they came."""
    priority = arriving[0].request.command.priority
    return all(
        _may_be_handed_over(copy) and copy.request.command.ttl is None and copy.request.command.priority == priority
        for copy in arriving
    )
