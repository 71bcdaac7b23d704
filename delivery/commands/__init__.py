"""What each command of a client does: it checks the client's rights, finds the queues and asks the engine.

A new command has its struct in delivery/protocol/commands.py, its number in variants.py, and its handler here.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

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

logger = logging.getLogger(__name__)

TURN_SECONDS = 0.001  # for which the commands of one connection may keep all others waiting

Handlers = Mapping[type[Command], Callable[[Session, Any], None]]


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

    def handle(self, session: Session, commands: Iterable[Command | FrameError]) -> bool:
        """Take commands in their order, for one turn of the loop. Some wait while the session holds them back.

        Returns whether that was all: what is left over of an iterator comes in another turn, after those of others.
        """
        if session.kicked:
            return True
        session.heard()
        end = time.perf_counter() + TURN_SECONDS
        for command in commands:
            if session.held_back.holds(type(command)):
                size = bytes_of_command(command) if isinstance(command, Command) else 0
                session.held_back.add(partial(self._take, session, command), size)
            else:
                self._take(session, command)
            if time.perf_counter() >= end:
                return False
        return True

    def _take(self, session: Session, command: Command | FrameError) -> None:
        """Do what a command asks for. A bad one is refused, and harms no other."""
        if session.kicked:  # while it was held back
            return
        if isinstance(command, FrameError):
            _refuse(session, command)
            return
        try:
            self._handlers[type(command)](session, command)
        except WillowError as error:
            session.refuse(getattr(command, "label", None), error)
        except Exception:
            label = getattr(command, "label", None)
            about = {"session": session.session_id, "label": label}
            logger.exception("A %s command failed", type(command).__struct_config__.tag, extra=about)
            session.refuse(label, _our_fault())


def _refuse(session: Session, error: FrameError) -> None:
    worker = worker_of(session)
    if worker is not None and error.key == "type":
        worker.dismiss(UNKNOWN_COMMAND, error.message)
    else:
        session.refuse(error.label, error)


def _our_fault() -> WillowError:
    return WillowError(Code.UNAVAILABLE, "broker", "The broker could not do this. Please try again.")
