"""A program that does nothing but work on the messages of a queue."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Unpack

from willow_client.client import Client
from willow_client.handlers import Handler
from willow_client.message import Message
from willow_client.options import OptionArguments, Options
from willow_client.signals import stop_signals
from willow_client.worker import QueueWorker, WorkerArguments

logger = logging.getLogger("willow_client")


class RunArguments(WorkerArguments, OptionArguments, total=False):
    """What a worker and a connection take."""


def run_worker(url: str | Sequence[str], queue: str, handler: Handler[Message], **how: Unpack[RunArguments]) -> None:
    """Work until SIGTERM or SIGINT, then drain: take no more, finish what is at work, give back the rest.

    Takes the arguments of `QueueWorker` and the options of `connect`. A second signal does not wait for what is at
    work. Raises `WillowError` if the broker cannot be reached at first, or refuses the worker.

    An asynchronous handler that suppresses its cancellation goes on: its message goes to others, but this returns only
    when it does, as `asyncio.run` waits for all that runs.
    """
    arguments: dict[str, Any] = dict(how)
    options = {name: arguments.pop(name) for name in OptionArguments.__annotations__ if name in arguments}
    asyncio.run(_run(Client(url, Options(**options)), queue, handler, arguments))


async def _run(client: Client, queue: str, handler: Handler[Message], how: dict[str, Any]) -> None:
    async with client:
        worker = client.worker(queue, handler, **how)
        with stop_signals() as signals:
            running = asyncio.ensure_future(worker.run())
            first = asyncio.ensure_future(signals.get())
            await asyncio.wait((running, first), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                await _stop(worker, signals)
            first.cancel()
            await running
        if worker.given_up:
            logger.warning("%d handlers do not let themselves be cancelled: this waits for them", worker.given_up)


async def _stop(worker: QueueWorker, signals: "asyncio.Queue[int]") -> None:
    logger.info("Stopping: no more messages are taken")
    draining = asyncio.ensure_future(worker.stop())
    second = asyncio.ensure_future(signals.get())
    await asyncio.wait((draining, second), return_when=asyncio.FIRST_COMPLETED)
    if not draining.done():
        logger.warning("Stopping at once: what is at work is given back")
        await worker.stop(at_once=True)
    second.cancel()
    await draining
