"""What each command of a client does: it checks the client's rights, finds the queues and asks the engine.

A new command has its struct in delivery/protocol/commands.py, its number in variants.py, and its handler here.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from django.conf import settings

from delivery.commands.cancel import cancel
from delivery.commands.define import create
from delivery.commands.post import post
from delivery.commands.read import fetch, pop
from delivery.commands.register import register
from delivery.commands.release import release
from delivery.commands.services import ServiceCommands, ping, pong, work_error, work_reply, work_request
from delivery.commands.settle import fail, finish, keepalive
from delivery.commands.subscribe import subscribe, unsubscribe
from delivery.protocol.commands import (
    Cancel,
    Command,
    Create,
    Fail,
    Fetch,
    Finish,
    Keepalive,
    Pop,
    Post,
    Register,
    Release,
    Subscribe,
    Unsubscribe,
)
from delivery.protocol.errors import Code, FrameError, WillowError
from delivery.protocol.service_commands import (
    CheckConfig,
    ClientPong,
    NeedBroker,
    Ping,
    Ready,
    WorkError,
    WorkReply,
    WorkRequest,
)
from delivery.protocol.sizes import bytes_of_command
from delivery.serving.worker import UNKNOWN_COMMAND, worker_of
from delivery.serving.workers import Workers
from delivery.sessions.session import Session
from delivery.storage.presence import clients_here

logger = logging.getLogger(__name__)

DONE = object()
ANY_BYTES = 2**62
TURN_SECONDS = 0.0005  # for which the commands of one connection may keep all others waiting
# The same while there are no others: what came in one frame goes into one batch, and a newcomer waits for no longer.
TURN_SECONDS_ALONE = 0.005

# A command may ask for much: then its handler returns an iterator, which does a part of it at each step.
Steps = Iterator[None]
Handlers = Mapping[type[Command], Callable[[Session, Any], Steps | None]]


def handlers(services: ServiceCommands) -> Handlers:
    return {
        Post: post,
        Pop: pop,
        Fetch: fetch,
        Finish: finish,
        Fail: fail,
        Keepalive: keepalive,
        Release: release,
        Cancel: cancel,
        Create: create,
        Subscribe: subscribe,
        Unsubscribe: unsubscribe,
        Register: register,
        CheckConfig: services.check_config,
        Ready: services.ready,
        Ping: ping,
        WorkRequest: work_request,
        WorkReply: work_reply,
        WorkError: work_error,
        NeedBroker: services.need_broker,
        ClientPong: pong,
    }


class Commands:
    """Takes the commands of all sessions of a node."""

    def __init__(self, workers: Workers) -> None:
        self._handlers = handlers(ServiceCommands(workers))
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, session: Session, commands: Iterable[Command | FrameError]) -> bool:
        """Take commands in their order, for one turn of the loop. Some wait while the session holds them back.

        Returns whether that was all: what is left over of an iterator comes in another turn, after those of others.
        """
        if session.kicked:
            return True
        session.heard()
        end = time.perf_counter() + (TURN_SECONDS if clients_here.is_of_several else TURN_SECONDS_ALONE)
        if not self._go_on(session, end):
            return False
        for command in commands:
            if session.held_back.holds(type(command)):
                size = bytes_of_command(command) if isinstance(command, Command) else 0
                session.held_back.add(partial(self._take_later, session, command), size)
            else:
                steps = self._take(session, command)
                if steps is not None:
                    session.begin_steps(steps)
                    if not self._go_on(session, end):
                        return False
            if time.perf_counter() >= end:
                return False
        return True

    def _go_on(self, session: Session, end: float) -> bool:
        """With a command that is taken in steps, until the turn is over or much is under way. Returns if it is done."""
        while session.steps is not None:
            if _is_last(session.steps):
                session.end_steps()
            elif time.perf_counter() >= end or session.under_way.count >= settings.WILLOW.connection_commands:
                return False
        return True

    def _take_later(self, session: Session, command: Command | FrameError) -> None:
        """Take a command that was held back; if it is taken in steps, those behind it wait for the last of them."""
        steps = self._take(session, command)
        if steps is not None and not _is_last(steps):
            session.held_back.start()
            task = asyncio.get_running_loop().create_task(_take_steps(session, steps))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _take(self, session: Session, command: Command | FrameError) -> Steps | None:
        """Do what a command asks for. A bad one is refused, and harms no other."""
        if session.kicked:  # while it was held back
            return None
        if isinstance(command, FrameError):
            _refuse(session, command)
            return None
        try:
            return self._handlers[type(command)](session, command)
        except WillowError as error:
            session.refuse(getattr(command, "label", None), error)
        except Exception:
            label = getattr(command, "label", None)
            about = {"session": session.session_id, "label": label}
            logger.exception("A %s command failed", type(command).__struct_config__.tag, extra=about)
            session.refuse(label, _our_fault())
        return None


def _is_last(steps: Steps) -> bool:
    """Take a step. Returns whether there are no more."""
    try:
        return next(steps, DONE) is DONE
    except Exception:
        logger.exception("A step of a command failed")
        return True


async def _take_steps(session: Session, steps: Steps) -> None:
    """No faster than they are done. Commands that are held back are under way, too, and wait for this."""
    most = session.under_way.count + settings.WILLOW.connection_commands + 1
    while not (session.kicked or _is_last(steps)):
        await session.under_way.wait_below(most, ANY_BYTES)
        await asyncio.sleep(0)
    session.held_back.stop()


def _refuse(session: Session, error: FrameError) -> None:
    worker = worker_of(session)
    if worker is not None and error.key == "type":
        worker.dismiss(UNKNOWN_COMMAND, error.message)
    else:
        session.refuse(error.label, error)


def _our_fault() -> WillowError:
    return WillowError(Code.UNAVAILABLE, "broker", "The broker could not do this. Please try again.")
