"""The program of a worker: tasks of some queues, until it is told to stop."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import willow_client
from willow_client.signals import stop_signals
from willow_client.worker import MOST_AT_ONCE

from willow_django.connections import new_client
from willow_django.handling import TaskHandler
from willow_django.health import say_healthy
from willow_django.holding import MOST, Holding
from willow_django.leaving import leave, leave_if_kept
from willow_django.on_the_loop import OnTheLoop
from willow_django.places import Places, Processes, Threads
from willow_django.task_queues import MOST_ATTEMPTS
from willow_django.tasks import WillowBackend
from willow_django.turns import Turns
from willow_django.worker_records import Records

logger = logging.getLogger("willow_django")


@dataclass(frozen=True, kw_only=True)
class WorkerPlan:
    queues: Sequence[str]  # of tasks
    concurrency: int  # tasks at a time, of each queue
    prefetch: int | None  # tasks that are held beside those, of each queue; None: as holding.py finds right
    run_in: str  # blocking tasks: thread or process
    soft_time_limit: float | None
    time_limit: float | None
    drain_timeout: float
    health_file: Path | None
    health_port: int | None
    has_process: bool  # to itself, and may end it


async def work(backend: WillowBackend, plan: WorkerPlan) -> None:
    """Until SIGTERM or SIGINT; then no more is taken, and what runs is finished or given back.

    A second signal does not wait for what runs. Raises WillowError if the broker does not let it work any longer, as
    when its key was revoked.
    """
    limits = {"soft_time_limit": plan.soft_time_limit, "hard_time_limit": plan.time_limit}
    places = (Processes if plan.run_in == "process" else Threads)(**limits)
    on_the_loop = OnTheLoop(places, **limits)
    workers: list[willow_client.QueueWorker] = []
    async with AsyncExitStack() as parts:
        signals = parts.enter_context(stop_signals())
        await parts.enter_async_context(_left_if_stuck(plan, workers, places, on_the_loop))
        parts.enter_context(closing(places))
        records = parts.enter_context(closing(Records()))
        client = await parts.enter_async_context(new_client())
        turns = [Turns(plan.concurrency) for _ in plan.queues]
        for name, turns_of_queue in zip(plan.queues, turns, strict=True):
            queue = backend.queue_of(name)
            most = {
                "most_attempts": await _attempts_that_are_allowed(client, queue),
                "most_lost": backend.lost_attempts,
            }
            worker = _worker(client, queue, TaskHandler(records, places, on_the_loop, turns_of_queue, **most), plan)
            if plan.prefetch is None:
                holding = Holding(worker, turns_of_queue, plan.concurrency)
                parts.callback(asyncio.ensure_future(holding.adapt()).cancel)
            workers.append(await parts.enter_async_context(worker))
        logger.info("Working on tasks of %s, %d at a time", ", ".join(plan.queues), plan.concurrency)
        await parts.enter_async_context(say_healthy(client, plan.health_file, plan.health_port))
        try:
            await _until_stopped(signals, workers)
        finally:
            logger.info("Stopping: no more tasks are taken")
            records.stop()
            for turns_of_queue in turns:
                turns_of_queue.stop()
            await _drain(workers, signals)


@asynccontextmanager
async def _left_if_stuck(
    plan: WorkerPlan, workers: Sequence[willow_client.QueueWorker], places: Places, on_the_loop: OnTheLoop
) -> AsyncIterator[None]:
    """Python would wait for asynchronous tasks that are not to be cancelled, for what they do in threads, and for
    threads that blocking tasks have begun. The broker gives them to others, and who stops a worker wants it to end.
    """
    status, threads_before = 1, threading.enumerate()
    try:
        yield
        status = 0
    finally:
        stuck = await on_the_loop.close() + places.given_up + sum(worker.given_up for worker in workers)
        if stuck:
            logger.warning("%d tasks do not end: the worker ends without them", stuck, exc_info=status == 1)
        if plan.has_process:
            if stuck:
                leave(status)
            leave_if_kept(status, threads_before)


async def _attempts_that_are_allowed(client: willow_client.Client, queue: str) -> int:
    """By the queue, which is made if it is not there."""
    try:
        allowed = (await client.create(queue, retry_limit=MOST_ATTEMPTS)).retry_limit or MOST_ATTEMPTS
    except willow_client.PermissionDenied:  # a key that may only fetch
        logger.info("This key may not create the queue %s: it should have the retry limit %d", queue, MOST_ATTEMPTS)
        return MOST_ATTEMPTS
    if allowed < MOST_ATTEMPTS:
        logger.warning(
            "The queue %s has the retry limit %d, so no task is tried more often: set it to %d",
            queue, allowed, MOST_ATTEMPTS,
        )  # fmt: skip
    return allowed


def _worker(
    client: willow_client.Client, queue: str, handler: TaskHandler, plan: WorkerPlan
) -> willow_client.QueueWorker:
    """All that is held is handled at once, and waits for its turn there."""
    beside = MOST * plan.concurrency if plan.prefetch is None else plan.prefetch
    handled = min(plan.concurrency + beside, MOST_AT_ONCE)
    return client.worker(queue, handler, concurrency=handled, prefetch=0, drain_timeout=plan.drain_timeout)


async def _drain(workers: Sequence[willow_client.QueueWorker], signals: "asyncio.Queue[int]") -> None:
    """All at once, so that none takes more, and all have the same time."""
    draining = asyncio.gather(*(worker.stop() for worker in workers))
    second = asyncio.ensure_future(signals.get())
    await asyncio.wait((draining, second), return_when=asyncio.FIRST_COMPLETED)
    if not draining.done():
        logger.warning("Stopping at once: what runs is given back")
        await asyncio.gather(*(worker.stop(at_once=True) for worker in workers))
    second.cancel()
    await draining


async def _until_stopped(signals: "asyncio.Queue[int]", workers: Sequence[willow_client.QueueWorker]) -> None:
    waiting = [asyncio.ensure_future(signals.get()), *(asyncio.ensure_future(one.until_ended()) for one in workers)]
    try:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for ended in done:
            ended.result()
    finally:
        for one in waiting:
            one.cancel()
