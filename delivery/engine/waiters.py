"""Who waits for messages of which queues, in the order in which they came."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from delivery.engine.backlog import Backlog
from delivery.engine.demands import Demand
from delivery.engine.limits import Limits
from delivery.engine.open_reads import OpenReads
from delivery.moves.claims import is_cut
from delivery.protocol.errors import WillowError
from delivery.storage.connection import InDoubt
from queues.definitions import QueueRecord

MOST_PLACES_AT_ONCE = 512  # in one attempt of one reader; what is left over is asked for again
MOST_BYTES_OF_A_FETCH = 16 * 1024 * 1024  # of bodies, the last one aside; a statement brings less at a time
PLACES_LIKE_A_LOOK = 4  # so many are as much work for the storage as a look into another queue


class Attempt:
    """One try of a demand, as a lane's request. Which of its kinds it is decides the statement that runs it."""

    __slots__ = ("demand", "places", "settled", "waiters", "weight")

    def __init__(self, demand: Demand, waiters: "Waiters") -> None:
        self.demand = demand
        self.weight = min(demand.places, MOST_PLACES_AT_ONCE) // PLACES_LIKE_A_LOOK  # whether they are filled or not
        self.places = 0
        self.waiters = waiters
        self.settled = False

    def begin(self) -> None:
        """Only now: places that came free since the attempt was submitted are filled by it too.

        A reader that has gone meanwhile takes nothing: a message that is popped for nobody would be lost. Nor does
        one that has too much to pass on already.
        """
        demand = self.demand
        self.places = 0 if demand.ended or demand.reader.is_crowded else min(demand.places, MOST_PLACES_AT_ONCE)

    @property
    def synchronous(self) -> bool:
        return self.demand.synchronous

    @property
    def source(self) -> int:
        return self.demand.reader.session_id

    def fail(self, error: WillowError) -> None:
        if not self.settled:
            self.settled = True
            self.waiters.attempt_failed(self.demand, error)

    def settle(self, messages: Sequence[Any], *, more_may_wait: bool = False) -> None:
        self.settled = True
        self.waiters.attempt_done(self.demand, messages, more_may_wait=more_may_wait)


class ClaimAttempt(Attempt):
    __slots__ = ()


class PopAttempt(Attempt):
    __slots__ = ()


class LimitedAttempt(Attempt):
    """A claim or pop from a queue that has limits."""

    __slots__ = ()


class AcrossAttempt(Attempt):
    """A try over several queues at once: those in which something may be found.

    A queue is one of them until a try has found it empty, and again when something has come there. So what a try
    costs depends on what came, and not on how many queues its reader reads.
    """

    __slots__ = ("looked_at",)

    def __init__(self, demand: Demand, waiters: "Waiters") -> None:
        super().__init__(demand, waiters)
        self.looked_at: set[int] = set()  # numbers of queues
        self.weight += len(demand.candidates)

    def begin(self) -> None:
        super().begin()
        self.looked_at |= self.demand.candidates
        self.demand.candidates = set()

    def fail(self, error: WillowError) -> None:
        self.demand.candidates |= self.looked_at
        super().fail(error)

    def settle(self, messages: Sequence[Any], *, more_may_wait: bool = False) -> None:
        if len(messages) >= self.places or more_may_wait:
            self.demand.candidates |= self.looked_at
        super().settle(messages, more_may_wait=more_may_wait)


class Waiters:
    """`in_doubt` is told of sessions for which messages may have been claimed that never reached them."""

    def __init__(
        self,
        submit: Callable[[Attempt], None],
        backlog: Backlog,
        in_doubt: Callable[[int], None],
        limits: Limits,
        reads: OpenReads,
    ) -> None:
        self._submit = submit
        self._reads = reads
        self._limits = limits
        self._in_doubt = in_doubt
        self._backlog = backlog
        self._by_queue: dict[int, dict[Demand, None]] = defaultdict(dict)
        self.count = 0
        self.paused = False  # a node that stops hands out nothing more

    def add(self, demand: Demand) -> None:
        self.count += 1
        if not demand.standing:
            self._reads.began(demand.caller)
        for queue in demand.queues:
            self._by_queue[queue.id][demand] = None
        if demand.waits and self._would_find_nothing(demand):
            return
        if demand.queues or demand.waits:
            self._wake_demand(demand)
        else:
            self._give_up(demand)

    def add_queue(self, demand: Demand, queue: QueueRecord) -> None:
        """A queue was made that belongs to a running subscription or a waiting fetch."""
        demand.queues.append(queue)
        demand.candidates.add(queue.id)
        self._by_queue[queue.id][demand] = None
        self._wake_demand(demand)

    def wait_until_timeout(self, demand: Demand, seconds: float) -> None:
        demand.waits = True
        demand.timer = asyncio.get_running_loop().call_later(seconds, self.time_out, demand)

    def remove(self, demand: Demand) -> None:
        if demand.ended:
            return
        demand.ended = True
        self.count -= 1
        if not demand.standing:
            self._reads.ended(demand.caller)
        if demand.timer is not None:
            demand.timer.cancel()
            demand.timer = None  # or the two would keep each other until the collector comes, as here below
        for queue in demand.queues:
            waiting = self._by_queue[queue.id]
            waiting.pop(demand, None)
            if not waiting:
                del self._by_queue[queue.id]
        if demand.when_ended is not None:
            demand.when_ended()
            demand.when_ended = None

    def free_places(self) -> dict[int, int]:
        """By queue: the messages that those who wait could be given now."""
        return {
            queue_id: sum(demand.places for demand in waiting if demand.places > 0)
            for queue_id, waiting in self._by_queue.items()
        }

    def queues_waited_for(self) -> list[int]:
        return list(self._by_queue)

    def wake(self, queue_id: int, messages: int = MOST_PLACES_AT_ONCE) -> None:
        """That many messages may have become ready: let as many of the longest-waiting try."""
        for demand in list(self._by_queue.get(queue_id, ())):
            if messages <= 0:
                return
            demand.candidates.add(queue_id)
            if demand.reader.is_crowded:  # it looks for itself when it goes on
                continue
            self._wake_demand(demand, messages)
            messages -= demand.places

    def refill(self, demand: Demand) -> None:
        """A standing demand has free places again."""
        if not self._would_find_nothing(demand):
            self._wake_demand(demand)

    def go_on(self, demand: Demand) -> None:
        """Its reader was crowded, and is no longer: it may have missed that messages came."""
        if demand.attempting:
            demand.woken += 1
        elif not demand.ended:
            self._wake_demand(demand)

    def _would_find_nothing(self, demand: Demand) -> bool:
        if len(demand.queues) == 1:
            return self._backlog.is_empty(demand.queues[0].id)
        return not demand.candidates

    def is_waited_for(self, queue_id: int) -> bool:
        return queue_id in self._by_queue and not self.paused

    def keep_places(self, queue_id: int, most: int, *, flushed: bool) -> list["ClaimAttempt"]:
        """Begin attempts of the longest-waiting for messages that are being stored. The caller must settle each.

        None, if messages wait that no attempt under way is going to take: those come first. While any wait, none of a
        session that is trying for them: it would get the newer messages first.
        """
        line = self._by_queue[queue_id]
        trying = [demand for demand in line if demand.attempting and len(demand.queues) == 1]
        if not self._backlog.is_enough_for_all(queue_id, sum(demand.places for demand in trying)):
            return []
        nothing_waits = self._backlog.is_enough_for_all(queue_id, 0)
        passed_over = frozenset() if nothing_waits else {demand.reader.session_id for demand in trying}
        kept: list[ClaimAttempt] = []
        for demand in line:
            if demand.places <= 0 or demand.attempting or demand.reader.is_crowded:
                continue
            if demand.reader.session_id in passed_over:
                continue
            if most <= 0 or not demand.takes_what_is_stored(flushed=flushed):
                break
            demand.begin_attempt()
            attempt = ClaimAttempt(demand, self)
            attempt.places = min(demand.places, most)
            most -= attempt.places
            kept.append(attempt)
        return kept

    def waiting_pop(self, queue_id: int) -> Demand | None:
        """The pop that waits longest, if it is next in line and nothing is on its way to it."""
        if self.paused:
            return None
        first = next(iter(self._by_queue.get(queue_id, ())), None)
        if first is None or first.reader.is_crowded:
            return None
        return first if first.pops and first.waits and not first.attempting and first.places > 0 else None

    def _wake_demand(self, demand: Demand, messages: int = 1) -> None:
        if demand.attempting:
            demand.woken += messages
        elif demand.places > 0 and demand.queues and not (self.paused or demand.reader.is_crowded):
            self._attempt(demand)

    def _attempt(self, demand: Demand) -> None:
        demand.begin_attempt()
        self._submit(self._kind_of_attempt(demand)(demand, self))

    def _kind_of_attempt(self, demand: Demand) -> type[Attempt]:
        if len(demand.queues) != 1:
            return AcrossAttempt
        if self._limits.apply_to(demand.queues[0].id, pops=demand.pops):
            return LimitedAttempt
        return PopAttempt if demand.pops else ClaimAttempt

    def attempt_failed(self, demand: Demand, error: WillowError) -> None:
        """The database is gone. A demand that has waited goes on waiting, if its time is not over; others are told."""
        demand.attempting = False
        if isinstance(error, InDoubt):
            self._in_doubt(demand.reader.session_id)
        elif demand.has_waited and demand.waits:
            return
        if not demand.standing:
            self.remove(demand)
            demand.reader.demand_failed(demand, error)

    def places_given_up(self, attempts: Iterable[ClaimAttempt]) -> None:
        """What was to be theirs could not be stored; or it was, and we were not told."""
        for attempt in attempts:
            self._in_doubt(attempt.demand.reader.session_id)
            attempt.settle((), more_may_wait=True)

    def attempt_done(self, demand: Demand, messages: Sequence[Any], *, more_may_wait: bool) -> None:
        demand.attempting = False
        demand.places -= len(messages)
        if messages:
            more_may_wait |= self._hand_to_reader(demand, messages)
        if demand.ended or demand.places <= 0:
            self._pass_on(demand, demand.woken if messages else demand.woken + demand.places)
        elif demand.attempting:  # again: its reader has freed a place meanwhile
            return
        elif demand.reader.is_crowded:
            self._pass_on(demand, demand.woken + int(more_may_wait))
        elif (demand.woken or more_may_wait) and not self.paused:
            self._attempt(demand)
        elif demand.served or not (messages or demand.waits):
            self._give_up(demand)
        else:
            demand.has_waited = True

    def _hand_to_reader(self, demand: Demand, messages: Sequence[Any]) -> bool:
        """Returns whether this reader may ask again for what did not fit into one attempt."""
        was_cut = len(messages) == MOST_PLACES_AT_ONCE or (demand.reader.takes_parts and is_cut(messages))
        unfilled = was_cut and demand.places > 0
        if unfilled and not demand.standing:
            demand.taken_bytes += sum(len(message.body) for message in messages)
            unfilled = demand.taken_bytes < MOST_BYTES_OF_A_FETCH
        if demand.standing:
            self._to_the_end_of_the_line(demand, messages)
        elif unfilled:
            demand.served = True
        else:
            self.remove(demand)
        demand.reader.take(demand, messages)
        return unfilled

    def _pass_on(self, demand: Demand, messages: int) -> None:
        """It could not take what came while it tried. That is for the next in line."""
        demand.woken = 0
        if messages > 0:
            for queue_id in list(demand.candidates):
                self.wake(queue_id, messages)

    def _to_the_end_of_the_line(self, demand: Demand, messages: Sequence[Any]) -> None:
        """So that subscriptions of one queue share what comes, instead of the first taking all of it."""
        if demand.ended:
            return
        several = len(demand.queues) > 1
        for queue_id in {message.queue_id for message in messages} if several else {demand.queues[0].id}:
            waiting = self._by_queue[queue_id]
            waiting[demand] = waiting.pop(demand)

    def time_out(self, demand: Demand) -> None:
        demand.waits = False
        if not demand.attempting:  # otherwise the attempt's end decides
            self._give_up(demand)

    def refuse(self, demand: Demand, error: WillowError) -> None:
        """It may not go on waiting."""
        demand.refusal = error
        self.time_out(demand)

    def _give_up(self, demand: Demand) -> None:
        self.remove(demand)
        if demand.refusal is not None:
            demand.reader.demand_failed(demand, demand.refusal)
        else:
            demand.reader.went_empty(demand)
