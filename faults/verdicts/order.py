"""Messages that came in another order than the broker promises."""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from faults.evidence import Delivery, Evidence
from faults.verdicts import Finding

# A message that waits for less, before or after another is handed out, may be overtaken: nodes learn of it at different
# times, and while one of them takes it, others go past it.
OVERTAKEN_SECONDS = 2.0


def order_of_posts(evidence: Evidence) -> Iterator[Finding]:
    """What one connection posts to one queue is stored in the order in which it was sent."""
    last: dict[tuple[str, int, str], tuple[str, int]] = {}
    for post in evidence.posts.values():
        notice = next((notice for notice in post.told if notice.index), None)
        if notice is None:
            continue
        line = (post.event.client, post.event.connection, post.event.queue)
        before = last.get(line)
        if before is not None and before[1] > notice.index:
            yield Finding(
                f"{post.event.client} posted {before[0][:60]!r} before {post.event.body[:60]!r} to "
                f"{post.event.queue}, and they have the indexes {before[1]} and {notice.index}."
            )
        last[line] = (post.event.body, notice.index)


class _Waiting(NamedTuple):
    """A first attempt: where it stood in its queue, since when, and when it was handed out."""

    rank: tuple[int, int]  # the smaller goes first
    ready_at: float
    assigned_at: float


def order_of_queues(evidence: Evidence) -> Iterator[Finding]:
    """Higher priority first, then older; by when messages were assigned, as far as no fault was in the way."""
    by_queue: dict[int, list[_Waiting]] = defaultdict(list)
    for ending in evidence.remains.endings:
        # One that was given back, or never reached its client, was not ready all the time.
        was_given_once = len(evidence.deliveries.get(ending.message, ())) == 1
        queue = evidence.queues.get(ending.shard)
        has_groups = queue is not None and queue.group_limit is not None  # which hold single messages back
        if ending.assigned_at is not None and ending.attempt == 1 and was_given_once and not has_groups:
            place = (-ending.priority, ending.index)
            by_queue[ending.shard].append(_Waiting(place, ending.posted_at, ending.assigned_at))
    for shard, assigned in by_queue.items():
        for overtaken, overtaking in _overtakings(assigned):
            if evidence.is_calm(overtaking.assigned_at - OVERTAKEN_SECONDS, overtaking.assigned_at):
                yield Finding(
                    f"{shard}/{overtaking.rank[1]} was handed out {overtaking.assigned_at - overtaken.ready_at:.1f} s "
                    f"after {shard}/{overtaken.rank[1]} was there, which goes first and was left waiting."
                )


def _overtakings(assigned: list[_Waiting]) -> Iterator[tuple[_Waiting, _Waiting]]:
    """Pairs of which the first goes first, and was ready long before and long after the second was assigned."""
    arriving = sorted(assigned, key=lambda one: one.ready_at)
    ahead: list[_Waiting] = []  # a heap by rank
    position = 0
    for one in sorted(assigned, key=lambda one: one.assigned_at):
        while position < len(arriving) and arriving[position].ready_at < one.assigned_at - OVERTAKEN_SECONDS:
            heapq.heappush(ahead, arriving[position])
            position += 1
        while ahead and ahead[0].assigned_at <= one.assigned_at + OVERTAKEN_SECONDS:
            heapq.heappop(ahead)
        if ahead and ahead[0].rank < one.rank:
            yield ahead[0], one


def order_of_groups(evidence: Evidence) -> Iterator[Finding]:
    """Where one message of a group is worked on at a time, first attempts come in the order of the posts."""
    first_attempts: dict[tuple[int, str], list[Delivery]] = defaultdict(list)
    for deliveries in evidence.deliveries.values():
        event = deliveries[0].event
        queue = evidence.queues.get(event.shard)
        if event.group and queue is not None and queue.group_limit == 1:
            first_attempts[event.shard, event.group].append(deliveries[0])
    for (shard, group), deliveries in first_attempts.items():
        for earlier, later in pairwise(sorted(deliveries, key=lambda delivery: delivery.event.at)):
            if (-earlier.event.priority, earlier.event.index) > (-later.event.priority, later.event.index):
                taken_back = evidence.crashed_between(earlier.event.at, later.event.at)
                yield Finding(
                    f"Of the group {group}, {shard}/{earlier.event.index} came before {shard}/{later.event.index}.",
                    "the storage crashed between them" if taken_back else "",
                )
