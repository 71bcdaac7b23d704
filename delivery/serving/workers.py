"""All workers of this node: their configuration, their heartbeats, and where they go when the node stops."""

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any, Protocol

from psycopg import AsyncConnection

from delivery.engine.engine import Engine
from delivery.protocol.errors import WillowError
from delivery.protocol.frames import ChangeBroker
from delivery.protocol.service_commands import CheckConfig
from delivery.serving.config_text import write_config
from delivery.serving.configuration import config_source, config_version, load_broker_group, load_configs
from delivery.serving.worker import BROKER_STOPS, Worker, become_worker, dismiss, worker_of
from delivery.sessions.session import Session
from delivery.storage.columns import BigintColumn, Float8Column, TextColumn
from delivery.storage.connection import fetch_rows
from delivery.storage.lanes import Job, Lane
from delivery.storage.statements import statement

STOPPING = "This broker is stopping, and no other can take you."


class NodeOfWorkers(Protocol):
    """What the workers of a node need of it."""

    @property
    def id(self) -> int: ...

    @property
    def jobs(self) -> Lane: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def sessions(self) -> Mapping[int, Session]: ...

    @property
    def draining(self) -> bool: ...


class Workers:
    def __init__(self, node: NodeOfWorkers) -> None:
        self._node = node
        self.can_go_elsewhere = False  # once this node stops: another one takes its workers

    def _all(self) -> list[Worker]:
        return [worker for session in self._node.sessions.values() if (worker := worker_of(session)) is not None]

    def _in_line(self) -> list[Worker]:
        return [worker for worker in self._all() if worker.in_line]

    @property
    def count(self) -> int:
        return len(self._in_line())

    def sessions_in_line(self) -> list[int]:
        return [worker.session.session_id for worker in self._in_line()]

    def queues_served(self) -> set[int]:
        return {queue_id for worker in self._in_line() for queue_id in worker.queue_ids}

    # configuration

    def negotiate(self, session: Session, command: CheckConfig) -> None:
        """Answer a checkconfig: with the configuration, or with its version alone if the worker has the current one."""
        worker, reply = become_worker(session), session.reply_to(None)
        worker.begin_negotiation(command)

        async def work(connection: AsyncConnection[Any]) -> tuple[str, str]:
            return await self._config_of(connection, worker)

        def done(config: tuple[str, str]) -> None:
            version, text = config
            reply.end()
            worker.send_config(version, None if command.config_version == version else text)
            worker.end_negotiation()

        def failed(error: WillowError) -> None:
            reply.refuse(error)
            worker.end_negotiation()

        self._node.jobs.submit(Job(work, done, failed))

    async def _config_of(self, connection: AsyncConnection[Any], worker: Worker) -> tuple[str, str]:
        """The version of what a worker is to run on, and its text."""
        configs = await load_configs(connection, worker.services)
        source = config_source(worker.services, configs, await load_broker_group(connection, self._node.id))
        return config_version(worker.services, configs), write_config(worker.config_type, source)

    async def push_changed_configs(self, connection: AsyncConnection[Any]) -> None:
        """Send every worker whose configuration was changed the new one."""
        negotiated = [worker for worker in self._all() if worker.negotiated]
        configs = await load_configs(connection, {service for worker in negotiated for service in worker.services})
        for worker in negotiated:
            if config_version(worker.services, configs) != worker.config_version:
                version, text = await self._config_of(connection, worker)
                worker.send_config(version, text)

    # requests and heartbeats

    def hand_out(self, request: Any) -> None:
        """A worker that has gone meanwhile gives the request back when it leaves the line."""
        session = self._node.sessions.get(request.holder)
        worker = None if session is None else worker_of(session)
        if worker is not None:
            worker.take(request)

    def look_for_requests(self) -> None:
        self._node.engine.assignment.look_soon()

    async def look_after(self, connection: AsyncConnection[Any]) -> None:
        """Called with each heartbeat of the node: judge the workers by theirs, and write down when each was heard."""
        for worker in self._in_line():
            worker.look_after()
        if not (workers := self._in_line()):
            return
        now = time.monotonic()
        columns = {
            "session": BigintColumn([worker.session.session_id for worker in workers]),
            "silent": Float8Column([now - worker.session.last_heard for worker in workers]),
            "config_version": TextColumn([worker.config_version for worker in workers]),
            "node": self._node.id,
        }
        known = {row.session_id for row in await fetch_rows(connection, statement("workers_seen"), columns)}
        for worker in workers:
            if worker.in_line and worker.session.session_id not in known:
                worker.fall_out()

    # other brokers

    def name_broker(self, session: Session) -> None:
        """Tell a client which broker to use."""
        reply = session.reply_to(None)

        async def work(connection: AsyncConnection[Any]) -> Sequence[Any]:
            return await load_broker_group(connection, self._node.id)

        def done(nodes: Sequence[Any]) -> None:
            reply.end()
            self._send_elsewhere([session], self._without_this_node(nodes) if self._node.draining else nodes)

        self._node.jobs.submit(Job(work, done, reply.refuse))

    async def leave_for_others(self, connection: AsyncConnection[Any]) -> None:
        """This node stops: its workers get nothing more, and are sent to another node if there is one."""
        await connection.execute(statement("empty_line"), {"node": self._node.id})
        nodes = self._without_this_node(await load_broker_group(connection, self._node.id))
        if nodes:
            self._send_elsewhere([worker.session for worker in self._all()], nodes)
        self.can_go_elsewhere = bool(nodes)

    def dismiss(self, *, only_idle: bool) -> None:
        """Dismiss the workers if no other node can take them. `only_idle`: they may finish their requests first."""
        if self.can_go_elsewhere:
            return
        for worker in self._all():
            if not (worker.dismissed or (only_idle and worker.session.claims)):
                worker.dismiss(BROKER_STOPS, STOPPING)

    def _without_this_node(self, nodes: Sequence[Any]) -> list[Any]:
        return [node for node in nodes if node.id != self._node.id]

    def _send_elsewhere(self, sessions: Iterable[Session], nodes: Sequence[Any]) -> None:
        """The least loaded node first; several clients are spread over all."""
        if not nodes:
            for session in sessions:
                dismiss(session, BROKER_STOPS, STOPPING)
            return
        for session, node in zip(sessions, cycle(nodes), strict=False):
            session.send(ChangeBroker(node.name, node.url))
