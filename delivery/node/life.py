"""The life of this process as a node: it joins the cluster, serves, drains and leaves."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Protocol

from django.conf import settings
from psycopg import AsyncConnection

from clients.statements import statement as client_statement
from delivery.moves.leases import restart_leases
from delivery.node.node import Node
from delivery.protocol.close_codes import NODE_IS_DRAINING
from delivery.protocol.errors import WillowError
from delivery.storage.connection import fetch_rows
from delivery.storage.lanes import job_lane, run_job
from delivery.storage.statements import statement
from delivery.storage.turns import FIRST
from delivery.wakeups.from_outside import listen_here

DRAIN_LOOK_SECONDS = 0.05


class Companion(Protocol):
    """What the application runs beside the node."""

    def run(self, node: Node) -> Coroutine[Any, Any, None]:
        """From when the node has joined the cluster."""

    def node_has_left(self) -> None: ...


_node: Node | None = None
_loop: asyncio.AbstractEventLoop | None = None  # on which it runs
_tasks: set[asyncio.Task[None]] = set()
_companions: list[Companion] = []


def accompany(companion: Companion) -> None:
    """To be called before the node starts."""
    _companions.append(companion)


async def start() -> None:
    """Join the cluster. The server calls this once, before it accepts connections."""
    global _node, _loop
    _loop = asyncio.get_running_loop()
    willow = settings.WILLOW
    doors = job_lane("doors")
    _keep(doors.run())
    await doors.connected.wait()

    async def join(connection: AsyncConnection[Any]) -> Any:
        parameters = {"name": willow.node_name, "url": willow.advertised_url}
        [me] = await fetch_rows(connection, client_statement("join_node"), parameters)
        await restart_leases(connection, me.orphans)
        await connection.execute(statement("empty_line"), {"node": me.id})
        return me.id

    _node = Node(await run_job(doors, join), willow.node_name, doors)
    await run_job(doors, _node.alarms.find_data)
    listen_here(_node.hints, _loop)
    for lane in _node.lanes:
        if lane is not doors:
            _keep(lane.run())
    await asyncio.gather(*(lane.connected.wait() for lane in _node.lanes))
    for task in (*_node.tasks(), *(companion.run(_node) for companion in _companions)):
        _keep(task)


def _keep(coroutine: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(coroutine)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def drain() -> None:
    """Stop in order. The server calls this when it takes no new connections any more, and ends after it."""
    node = current()
    try:
        await _let_work_end(node)
    finally:
        # Also when draining took too long: clients that are still connected can go on elsewhere.
        node.workers.dismiss(only_idle=False)
        node.leaving = True
        for session in list(node.sessions.values()):
            session.kick(NODE_IS_DRAINING, "This node is stopping.")
        await _leave_cluster(node)
        for companion in _companions:
            companion.node_has_left()


async def _let_work_end(node: Node) -> None:
    """Hand out nothing more and wait for running work; what clients still hold they can finish elsewhere."""
    node.draining = True
    node.engine.waiters.paused = True
    with suppress(WillowError):  # without the database nobody can be told of another node
        await run_job(node.jobs, node.workers.leave_for_others)
    node.workers.dismiss(only_idle=True)
    while any(session.is_at_work for session in node.sessions.values()):
        await asyncio.sleep(DRAIN_LOOK_SECONDS)
        node.workers.dismiss(only_idle=True)


async def _leave_cluster(node: Node) -> None:
    """Claims stay with their clients' ids, and their time starts again."""

    async def leave(connection: AsyncConnection[Any]) -> None:
        async with connection.transaction():
            left = await connection.execute(client_statement("leave_sessions"), {"node": node.id})
            await restart_leases(connection, [session_id for (session_id,) in await left.fetchall()])
            await connection.execute(client_statement("leave_node"), {"node": node.id})
        await node.engine.delays.count(connection)

    await node.sessions.ends_are_written()  # or they would be left for others to take up
    await run_job(node.doors, leave, source=FIRST)


def current_or_none() -> Node | None:
    return _node


def here() -> tuple[Node, asyncio.AbstractEventLoop] | None:
    """The node of this process and the loop on which it runs, for other threads; None if there is none."""
    return (_node, _loop) if _node is not None and _loop is not None else None


def current() -> Node:
    if _node is None:
        raise RuntimeError("The node has not been started.")
    return _node


async def started() -> Node:
    """The node, started now if the server did not do it (uvicorn and others run no start of ours)."""
    async with _starting:
        if _node is None:
            await start()
    return current()


_starting = asyncio.Lock()
