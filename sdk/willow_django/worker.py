"""The program of a worker: tasks of some queues, until it is told to stop."""

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import willow_client
from willow_client import Message
from willow_client.signals import stop_signals

from willow_django.connections import new_client
from willow_django.in_process import InProcess
from willow_django.job import job_of
from willow_django.running import is_asynchronous, run_awaited, run_blocking
from willow_django.tasks import WillowBackend

logger = logging.getLogger("willow_django")

# How often a message is tried is said by its task: the worker gives up earlier than its queue would.
MOST_ATTEMPTS = 1000
HEALTH_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class WorkerPlan:
    queues: Sequence[str]  # of tasks
    concurrency: int  # tasks at a time, of each queue
    run_in: str  # blocking tasks: thread or process
    soft_time_limit: float | None
    time_limit: float | None
    drain_timeout: float
    health_file: Path | None


async def work(backend: WillowBackend, plan: WorkerPlan) -> None:
    """Until SIGTERM or SIGINT; then no more is taken, and what runs is finished or given back."""
    with stop_signals() as signals, ThreadPoolExecutor(plan.concurrency * len(plan.queues)) as threads:
        async with AsyncExitStack() as parts:
            client = await parts.enter_async_context(new_client())
            handler = _handler(plan, threads)
            for name in plan.queues:
                queue = backend.queue_of(name)
                await client.create(queue, retry_limit=MOST_ATTEMPTS)
                await parts.enter_async_context(_worker(client, queue, handler, plan))
            logger.info("Working on tasks of %s, %d at a time", ", ".join(plan.queues), plan.concurrency)
            healthy = asyncio.ensure_future(_say_healthy(client, plan.health_file))
            await signals.get()
            healthy.cancel()
            logger.info("Stopping: no more tasks are taken")


def _worker(client: willow_client.Client, queue: str, handler: Any, plan: WorkerPlan) -> willow_client.QueueWorker:
    return client.worker(
        queue,
        handler,
        concurrency=plan.concurrency,
        time_limit=plan.time_limit,
        drain_timeout=plan.drain_timeout,
        run_in="process" if plan.run_in == "process" else "thread",
    )


def _handler(plan: WorkerPlan, threads: ThreadPoolExecutor) -> Any:
    if plan.run_in == "process":
        return InProcess(plan.soft_time_limit)

    async def handle(message: Message) -> None:
        job = job_of(message)
        if is_asynchronous(job):
            await run_awaited(job, plan.soft_time_limit)
        else:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(threads, run_blocking, job, plan.soft_time_limit)

    return handle


async def _say_healthy(client: willow_client.Client, health_file: Path | None) -> None:
    """The file's time is of the last moment at which the worker was connected."""
    while health_file is not None:
        if client.is_open:
            await asyncio.to_thread(health_file.touch)
        await asyncio.sleep(HEALTH_SECONDS)
