"""Running a blocking handler in a process of its own, which can be ended when its time is over."""

import asyncio
import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from multiprocessing.process import BaseProcess
from typing import Any

from willow_client.bodies import WireBody, WithBody
from willow_client.errors import WillowError
from willow_client.handlers import InThread
from willow_client.message import Message
from willow_client.signals import STOPPING


class DetachedMessage(WithBody):
    """A message as a process gets it: it can be read; what becomes of it is decided by how the handler ends."""

    __slots__ = ("attempt", "group", "headers", "index", "priority", "queue", "sequence", "shard", "tags")

    attempt: int
    group: str | None
    headers: dict[str, str]
    index: int
    priority: int
    queue: str
    sequence: int
    shard: int
    tags: tuple[str, ...]

    def __init__(self, body: WireBody, facts: dict[str, Any]) -> None:
        super().__init__(body)
        for name, value in facts.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<DetachedMessage {self.index} of {self.queue}, attempt {self.attempt}: {self._preview()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return DetachedMessage, (self._body, {name: getattr(self, name) for name in DetachedMessage.__slots__})


def detached(message: Message) -> DetachedMessage:
    return DetachedMessage(message.wire_body, {name: getattr(message, name) for name in DetachedMessage.__slots__})


class InProcess:
    """A process is started before the first message, and again after one was ended or died."""

    def __init__(self, handler: Callable[[Any], Any], name: str) -> None:
        self._handler = handler
        self._name = name
        self._process: BaseProcess | None = None
        self._pipe: Pipe | None = None
        self._talking: InThread[DetachedMessage | None] = InThread(self._ask, name)

    async def prepare(self) -> None:
        """Python takes up to a second to start. If it does not, the work on a message will say so."""
        try:
            await self._talking.run(None)
        except WillowError:
            pass
        except asyncio.CancelledError:
            self._end()
            raise

    async def run(self, subject: Message) -> Any:
        try:
            return await self._talking.run(detached(subject))
        except asyncio.CancelledError:
            self._end()
            raise

    def _ask(self, message: DetachedMessage | None) -> Any:
        """None is answered as soon as the process runs."""
        try:
            pipe = self._start()
            pipe.send(message)
            succeeded, outcome = pipe.recv()
        except (EOFError, OSError):
            self._end()
            raise WillowError("Failed", self._name, "The process of the handler died.") from None
        if succeeded:
            return outcome
        raise outcome

    def _start(self) -> Pipe:
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            process = context.Process(target=_work, args=(self._handler, theirs), name=self._name, daemon=True)
            self._process = process
            process.start()
            theirs.close()
            if self._process is not process:  # it was to end before it had begun
                process.kill()
                raise EOFError
        return self._pipe

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.pid is not None:
            process.kill()

    def close(self) -> None:
        self._talking.close()
        self._end()


def _work(handler: Callable[[Any], Any], pipe: Pipe) -> None:
    """A signal to stop that goes to the whole group is for the worker, which lets this process finish its work."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        try:
            answer = (True, None if message is None else handler(message))
        except Exception as error:
            answer = (False, error)
        try:
            pipe.send(answer)
        except Exception as error:  # what it returned or raised cannot be sent
            pipe.send((False, RuntimeError(f"{type(error).__name__}: {error}")))
