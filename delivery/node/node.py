"""This process as a node of the cluster: the parts that its sessions share, and how they are put together."""

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection

from delivery.commands import Commands
from delivery.engine.engine import Engine
from delivery.engine.lookups import queue_lane
from delivery.engine.queues import Directory
from delivery.engine.waiters import MOST_PLACES_AT_ONCE
from delivery.moves.notices import Notices
from delivery.node.alarms import Alarms
from delivery.node.on_hints import OnHints
from delivery.node.poll import Heartbeat, Poll, every
from delivery.node.session_table import SessionTable
from delivery.node.transactional_posts import TransactionalPostMover
from delivery.node.unheard_claims import UnheardClaims
from delivery.protocol.errors import Code
from delivery.serving.workers import Workers
from delivery.sessions.positions import AckRecord, PositionWrite, run_ack_records, run_position_writes
from delivery.sessions.quotas import KeyQuotas
from delivery.sessions.session import Session
from delivery.sessions.stream_feed import StreamFeeds
from delivery.sessions.unread_answers import UnreadAnswers
from delivery.storage.lanes import Job, Lane, job_lane, run_jobs
from delivery.wakeups.hints import Hints


class Node:
    """`doors`: the lane of what no client may hold up: hellos, checks of keys, heartbeats and operators' orders.

    What the node does of its own goes first, and addresses take turns.
    """

    def __init__(self, node_id: int, name: str, doors: Lane) -> None:
        self.id = node_id
        self.name = name
        self.draining = False  # hands out nothing more, waits for what is under way
        self.leaving = False  # closes the sockets that are left
        self.refusals = Counter(dict.fromkeys(map(str, Code), 0))  # of commands, by their code
        self.doors = doors
        self.jobs = job_lane("jobs")
        self.queues = queue_lane()
        self._heartbeat = Heartbeat(self)
        self.quotas = KeyQuotas()
        self.alarms = Alarms()
        self.unread = UnreadAnswers(settings.WILLOW.node_unread_bytes)
        self.streams = Lane(
            "streams",
            {PositionWrite: run_position_writes, AckRecord: run_ack_records, Job: run_jobs},
            batch_size=settings.WILLOW.batch_size,
        )
        self.feeds = StreamFeeds(self.streams)
        self.sessions = SessionTable(
            node_id=node_id,
            doors=doors,
            streams=self.streams,
            resumed=lambda: self.on_hints.notices_wait(),
        )
        self.unheard_claims = UnheardClaims(self.sessions, ended=self.sessions.end_later)
        self.workers = Workers(self)
        self.commands = Commands(self.workers)
        self.on_hints = OnHints(self)
        self.hints = Hints(node_id=node_id, listener=self.on_hints)
        self.directory = Directory(
            self.queues,
            announce=lambda queue, nodes, done: self.hints.announce(queue.id, nodes, done),
            changed=self._queue_changed,
        )
        self.notices = Notices(
            node_id=node_id,
            listener_of=self._listener_of,
            queue_name=self.directory.name_of,
            left_elsewhere=self.hints.notices_left,
        )
        self.engine: Engine = Engine(
            node_id=node_id,
            node_name=name,
            jobs=self.jobs,
            notices=self.notices,
            arrived=self.on_hints.arrived_here,
            workers=self.workers,
            requests_given=self.hints.requests_given,
            in_doubt=self.unheard_claims.add,
            queue=self.directory.by_id,
        )

    @property
    def is_in_doubt(self) -> bool:
        """Whether others may have taken this node for dead, so that its sessions may live elsewhere by now."""
        return self._heartbeat.has_lapsed

    @property
    def lanes(self) -> tuple[Lane, ...]:
        engine = self.engine
        return engine.posts, engine.large_posts, engine.claims, self.streams, self.jobs, self.queues, self.doors

    def tasks(self) -> list[Coroutine[Any, Any, None]]:
        """What runs as long as the node does, once its lanes have their connections."""
        poll, posts = Poll(self), TransactionalPostMover(self)
        return [
            self.hints.publish(),
            self.hints.listen(),
            every(settings.WILLOW.node_heartbeat, self._heartbeat.beat),
            every(settings.WILLOW.node_heartbeat, self._heartbeat.look_after_workers),
            every(settings.WILLOW.poll_seconds, poll.look),
            every(settings.WILLOW.poll_seconds, poll.look_to_the_doors),
            every(posts.pause, posts.look),
        ]

    def _listener_of(self, session_id: int | None) -> Session | None:
        return self.sessions.get(session_id or 0)

    def _queue_changed(self, queue_id: int) -> None:
        """It was deleted, paused or resumed, or has other settings: perhaps more of it may be handed out now."""
        self.engine.forget(queue_id)
        self.on_hints.messages_ready(queue_id, MOST_PLACES_AT_ONCE)
        self.on_hints.requests_unassigned(queue_id)

    def is_paused(self, queue_id: int) -> bool:
        """Whether no messages of this queue are handed out now."""
        queue = self.directory.by_id(queue_id)
        return self.draining or (queue is not None and queue.paused)

    def run_job_soon(self, work: Callable[[AsyncConnection[Any]], Awaitable[Any]]) -> None:
        """Run without waiting. If the database is gone, the poll and the reaper make up for it."""
        self.jobs.submit(Job(work, _no_answer, _no_answer))


def _no_answer(result: Any) -> None: ...
