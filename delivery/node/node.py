"""This process as a node of the cluster: its lanes, its sessions, its heartbeat and its slow poll."""

import asyncio
import logging
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from clients.statements import statement as client_statement
from delivery.engine.engine import Engine
from delivery.engine.queues import Directory
from delivery.engine.waiters import MOST_PLACES_AT_ONCE
from delivery.metrics.several_processes import remove_own, write_own
from delivery.moves.leases import restart_leases
from delivery.moves.notices import Notices
from delivery.moves.service_names import is_service_queue
from delivery.node.key_changes import refresh_principals
from delivery.node.orders import carry_out_orders
from delivery.node.unheard_claims import Doubts
from delivery.protocol.close_codes import ID_IN_USE
from delivery.protocol.errors import Code, WillowError
from delivery.serving.workers import Workers
from delivery.sessions.positions import AckRecord, PositionWrite, run_ack_records, run_position_writes
from delivery.sessions.session import Claim, RegisteredClient, Session
from delivery.sessions.stream_reader import StreamFeed
from delivery.storage.lanes import Job, Lane, on_desk, run_jobs
from delivery.storage.statements import statement
from delivery.wakeups.hints import Hints

logger = logging.getLogger(__name__)

TOKEN_BYTES = 24  # of randomness in the id that `hello` hands out
DRAIN_LOOK_SECONDS = 0.05


class Node:
    def __init__(self, node_id: int, name: str, desk: Lane) -> None:
        self.id = node_id
        self.name = name
        self.draining = False  # hands out nothing more, waits for what is under way
        self.leaving = False  # closes what sockets are left
        self.sessions: dict[int, Session] = {}
        self.sessions_opened = 0
        self.refusals = Counter(dict.fromkeys(map(str, Code), 0))  # of commands, by their code
        self.desk = desk
        self.directory = Directory(
            desk,
            announce=lambda queue, nodes, done: self.hints.announce(queue.id, nodes, done),
            changed=lambda queue_id: self.engine.forget(queue_id),
        )
        self.hints = Hints(node_id=node_id, listener=self)
        self.notices = Notices(
            node_id=node_id,
            listener_of=self._listener_of,
            queue_name=self.directory.name_of,
            left_elsewhere=self.hints.notices_left,
        )
        self.workers = Workers(self)
        self.streams = Lane(
            "streams",
            {PositionWrite: run_position_writes, AckRecord: run_ack_records, Job: run_jobs},
            batch_size=settings.WILLOW.batch_size,
        )
        self._feeds: dict[int, StreamFeed] = {}
        self._doubts = Doubts(self.sessions, ended=self.owe_goodbye)
        self.engine = Engine(
            node_id=node_id,
            node_name=name,
            desk=desk,
            notices=self.notices,
            arrived=self._arrived,
            workers=self.workers,
            requests_given=self.hints.requests_given,
            in_doubt=self._doubts.add,
        )
        self._last_beat = time.monotonic()
        self._owed_goodbyes: set[int] = set()  # sessions that ended while the storage was gone

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return self.engine.posts, self.engine.turns, self.streams, self.desk

    def tasks(self) -> list[Coroutine[Any, Any, None]]:
        tasks = [
            self.engine.posts.run(),
            self.engine.turns.run(),
            self.streams.run(),
            self.hints.publish(),
            self.hints.listen(),
            self._every(settings.WILLOW.node_heartbeat, self._beat),
            self._every(settings.WILLOW.poll_seconds, self._poll),
        ]
        if settings.WILLOW.processes > 1:
            tasks.append(self._every(settings.WILLOW.metrics_seconds, self._tell_siblings))
        return tasks

    async def _tell_siblings(self) -> None:
        write_own(self)

    # sessions

    async def open(self, session: Session, *, token: str | None, address: str, hold: float) -> str:
        """Give a session its identity: the one it asks to take up again, or a new one. Returns the id for `hello`."""
        session.hold_seconds = hold
        self.sessions_opened += 1
        parameters = {
            "node": self.id,
            "key": session.principal.key_id,
            "owner": session.principal.client_id,
            "client": None,
            "address": address,
            "hold": hold,
            "lapse": settings.WILLOW.node_lapse,
        }
        if token is not None and await self._resume(session, parameters | {"token": token}):
            return token
        token = secrets.token_urlsafe(TOKEN_BYTES)
        row = await self._one_row("open_session", parameters | {"token": token})
        session.session_id = row[0]
        self.sessions[session.session_id] = session
        return token

    async def _resume(self, session: Session, parameters: dict[str, Any]) -> bool:
        async def work(connection: AsyncConnection[Any]) -> tuple[Any, list[Any]]:
            async with connection.transaction():
                found = await (await connection.execute(client_statement("resume_session"), parameters)).fetchone()
                if found is None:
                    return None, []
                # Its node may have died without anybody noticing: the claims' time starts again now.
                await restart_leases(connection, [found[0]])
                held = await connection.execute(statement("held_by"), {"holder": found[0]})
                return found, await held.fetchall()

        found, held = await on_desk(self.desk, work)
        if found is not None:
            session.session_id = found[0]
            session.claims = {
                (queue_id, sequence): Claim(index, work_timeout, time.monotonic() + work_timeout, None)
                for queue_id, sequence, index, work_timeout in held
            }
            session.resumed_claims = frozenset(session.claims)
            if found[2] is not None:
                session.registered = RegisteredClient(found[1], found[2])
            self.sessions[session.session_id] = session
            self.notices_wait()
            return True
        elsewhere = await self._one_row("find_session", parameters)
        if elsewhere is None:
            return False
        raise WillowError(Code.PERMISSION_DENIED, elsewhere[1] or "id", _why_not_resumed(elsewhere))

    def hold(self, session: Session) -> None:
        self._let_go(session, "hold_session", {"session": session.session_id})

    def end(self, session: Session) -> None:
        self._let_go(session, "end_session", {"session": session.session_id})

    def _let_go(self, session: Session, name: str, parameters: dict[str, Any]) -> None:
        if self.sessions.get(session.session_id) is session:
            del self.sessions[session.session_id]

        async def work(connection: AsyncConnection[Any]) -> None:
            await connection.execute(client_statement(name), parameters | {"node": self.id})

        def let_go(_: object = None) -> None:
            self.desk.submit(Job(work, _no_answer, lambda _: self.owe_goodbye(session.session_id)))

        if session.streams:  # what it acknowledged last is to be written in its name
            self.streams.submit(Job(_nothing, let_go, let_go))
        else:
            let_go()

    def owe_goodbye(self, session_id: int) -> None:
        """The storage could not be told that a session is over: tell it when it is back."""
        self._owed_goodbyes.add(session_id)

    async def _say_goodbyes(self, connection: AsyncConnection[Any]) -> None:
        owed = set(self._owed_goodbyes)
        parameters = {"session": list(owed - self.sessions.keys()), "node": self.id}
        await connection.execute(client_statement("give_up_sessions"), parameters)
        self._owed_goodbyes -= owed

    # the desk

    async def _one_row(self, name: str, parameters: dict[str, Any]) -> Any:
        async def work(connection: AsyncConnection[Any]) -> Any:
            return await (await connection.execute(client_statement(name), parameters)).fetchone()

        return await on_desk(self.desk, work)

    def on_desk_soon(self, work: Callable[[AsyncConnection[Any]], Awaitable[Any]]) -> None:
        """Run without waiting: what is lost with the storage is made good by the poll and the reaper."""
        self.desk.submit(Job(work, _no_answer, _no_answer))

    def _listener_of(self, session_id: int | None) -> Session | None:
        return self.sessions.get(session_id or 0)

    # what hints say, and the poll finds

    def _arrived(self, queue_id: int, messages: int) -> None:
        self._wake(queue_id, messages)
        self.hints.messages_ready(queue_id, messages)
        if is_service_queue(self.directory.name_of(queue_id)):
            self.engine.assignment.assign_soon(queue_id)

    def messages_ready(self, queue_id: int, messages: int) -> None:
        self.engine.stock.something_came(queue_id)
        self._wake(queue_id, messages)

    def _wake(self, queue_id: int, messages: int) -> None:
        self.engine.waiters.wake(queue_id, messages)
        if (feed := self._feeds.get(queue_id)) is not None:
            feed.wake()

    def requests_unassigned(self, queue_id: int) -> None:
        if queue_id in self.workers.queues_served():
            self.engine.assignment.assign_soon(queue_id)

    def notices_wait(self) -> None:
        self.on_desk_soon(self.notices.take)

    def requests_wait(self) -> None:
        self.workers.look_for_requests()

    def configs_changed(self) -> None:
        self.on_desk_soon(self.workers.push_changed_configs)

    def orders_wait(self) -> None:
        self.on_desk_soon(lambda connection: carry_out_orders(self, connection))

    def queues_defined(self, known: Callable[[], None]) -> None:
        self.desk.submit(Job(self.directory.refresh, lambda _: known(), _no_answer))

    # streams

    def stream_feed(self, queue_id: int) -> StreamFeed:
        return self._feeds.setdefault(queue_id, StreamFeed(queue_id, self.streams))

    def is_paused(self, queue_id: int) -> bool:
        queue = self.directory.by_id(queue_id)
        return self.draining or (queue is not None and queue.paused)

    # heartbeat and poll

    async def _every(self, seconds: float, action: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await action()
            except WillowError as error:
                logger.debug("%s: %s", action.__name__, error)
            except Exception:
                logger.exception("%s failed", action.__name__)
            await asyncio.sleep(seconds)

    async def _beat(self) -> None:
        parameters = {
            "node": self.id,
            "sockets": len(self.sessions),
            "draining": self.draining,
            "readers": Jsonb(self._readers()),
            "free_places": Jsonb(self.engine.waiters.free_places()),
        }
        if await self._one_row("beat", parameters) is None and not self.leaving:
            logger.error("This node's row is gone from the database; its clients must connect again.")
        silent = time.monotonic() - self._last_beat
        self._last_beat = time.monotonic()
        if silent > settings.WILLOW.node_lapse:
            await on_desk(self.desk, self._reclaim_sessions)
        await on_desk(self.desk, self.workers.look_after)

    def _readers(self) -> dict[int, int]:
        """By queue: how many sessions wait for its messages or hold some."""
        readers: dict[int, set[int]] = defaultdict(set)
        for session in self.sessions.values():
            for queue_id in session.reads():
                readers[queue_id].add(session.session_id)
        return {queue_id: len(sessions) for queue_id, sessions in readers.items()}

    async def _reclaim_sessions(self, connection: AsyncConnection[Any]) -> None:
        """The others may have taken this node for dead; its sessions are still here, unless they went on elsewhere."""
        parameters = {"node": self.id, "session": list(self.sessions)}
        cursor = await connection.execute(client_statement("reclaim_sessions"), parameters)
        kept = {session_id for (session_id,) in await cursor.fetchall()}
        for session_id in self.sessions.keys() - kept:
            self.sessions[session_id].kick(ID_IN_USE, "This client is served by another node now.")

    async def _poll(self) -> None:
        """Whatever a hint should have said and did not."""
        for lane in (self.engine.posts, self.engine.turns, self.streams):
            lane.probe()
        if self._doubts:
            await on_desk(self.desk, self._doubts.settle)
        if self._owed_goodbyes:
            await on_desk(self.desk, self._say_goodbyes)
        if self.notices.left_behind:
            await on_desk(self.desk, self.notices.leave)
        await on_desk(self.desk, self.directory.refresh)
        await on_desk(self.desk, self.directory.forget_deleted)
        await on_desk(self.desk, self.notices.take)
        await on_desk(self.desk, self.workers.push_changed_configs)
        self.workers.look_for_requests()
        await on_desk(self.desk, self._wake_ready_queues)
        await on_desk(self.desk, lambda connection: refresh_principals(self, connection))
        await on_desk(self.desk, lambda connection: carry_out_orders(self, connection))
        for session in list(self.sessions.values()):
            session.tend()

    async def _wake_ready_queues(self, connection: AsyncConnection[Any]) -> None:
        served = self.workers.queues_served()
        waited_for = [*self.engine.waiters.queues_waited_for(), *self._feeds, *served]
        if waited_for:
            cursor = await connection.execute(statement("ready_queues"), {"queue_id": waited_for})
            for (queue_id,) in await cursor.fetchall():
                self.messages_ready(queue_id, MOST_PLACES_AT_ONCE)
                if queue_id in served:
                    self.engine.assignment.assign_soon(queue_id)

    # the end

    async def drain(self) -> None:
        """Hand out nothing more and let running work end; what clients still hold they may finish elsewhere."""
        self.draining = True
        self.engine.waiters.paused = True
        with suppress(WillowError):  # without storage nobody can be told of another node
            await on_desk(self.desk, self.workers.leave_for_others)
        self.workers.dismiss(only_idle=True)
        while any(session.is_at_work for session in self.sessions.values()):
            await asyncio.sleep(DRAIN_LOOK_SECONDS)
            self.workers.dismiss(only_idle=True)

    async def leave_cluster(self) -> None:
        """Claims stay with their clients' ids, and their time starts again."""
        sessions = list(self.sessions)

        async def leave(connection: AsyncConnection[Any]) -> None:
            async with connection.transaction():
                await connection.execute(client_statement("leave_sessions"), {"session": sessions, "node": self.id})
                await restart_leases(connection, sessions)
                await connection.execute(client_statement("leave_node"), {"node": self.id})

        await on_desk(self.desk, leave)
        remove_own()


def _no_answer(result: Any) -> None: ...


async def _nothing(connection: AsyncConnection[Any]) -> None: ...


def _why_not_resumed(elsewhere: Any) -> str:
    _, node, same_owner = elsewhere
    if not same_owner:
        return "This id belongs to another client."
    return f"This id has a live connection on the node {node}."
