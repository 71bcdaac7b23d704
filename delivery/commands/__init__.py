"""What each command of a client does. A new command: its frame in delivery/protocol/frames.py, its handler here."""

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from delivery.commands.define import create
from delivery.commands.post import post
from delivery.commands.read import fetch, pop
from delivery.commands.register import register
from delivery.commands.services import check_config, need_broker, ping, pong, ready, work_reply, work_request
from delivery.commands.settle import fail, finish, keepalive
from delivery.commands.subscribe import subscribe, unsubscribe
from delivery.protocol.errors import Code, FrameError, WillowError
from delivery.protocol.frames import (
    CheckConfig,
    ClientPong,
    Command,
    Create,
    Fail,
    Fetch,
    Finish,
    Keepalive,
    NeedBroker,
    Ping,
    Pop,
    Post,
    Ready,
    Register,
    Subscribe,
    Unsubscribe,
    WorkReply,
    WorkRequest,
)
from delivery.serving.worker import UNKNOWN_COMMAND
from delivery.sessions.session import Session

logger = logging.getLogger(__name__)

HANDLERS: dict[type[Command], Callable[[Session, Any], None]] = {
    Post: post,
    Pop: pop,
    Fetch: fetch,
    Finish: finish,
    Fail: fail,
    Keepalive: keepalive,
    Create: create,
    Subscribe: subscribe,
    Unsubscribe: unsubscribe,
    Register: register,
    CheckConfig: check_config,
    Ready: ready,
    Ping: ping,
    WorkRequest: work_request,
    WorkReply: work_reply,
    NeedBroker: need_broker,
    ClientPong: pong,
}


def handle(session: Session, commands: Iterable[Command | FrameError]) -> None:
    """Take the commands of a frame in their order. Some wait while `session.held_back` is set."""
    session.last_heard = time.monotonic()
    for command in commands:
        if session.held_back is None or type(command) in session.not_held_back:
            _take(session, command)
        else:
            session.began()
            session.held_back.append(partial(_take, session, command))


def _take(session: Session, command: Command | FrameError) -> None:
    """Do what a command asks for. A bad one is refused, and harms no other."""
    if isinstance(command, FrameError):
        _refuse(session, command)
        return
    try:
        HANDLERS[type(command)](session, command)
    except WillowError as error:
        session.refuse(getattr(command, "label", None), error)
    except Exception:
        label = getattr(command, "label", None)
        about = {"session": session.session_id, "label": label}
        logger.exception("A %s command failed", type(command).__struct_config__.tag, extra=about)
        session.refuse(getattr(command, "label", None), _our_fault())


def _refuse(session: Session, error: FrameError) -> None:
    if session.worker is not None and error.key == "type":
        session.worker.dismiss(UNKNOWN_COMMAND, error.message)
    else:
        session.refuse(error.label, error)


def _our_fault() -> WillowError:
    return WillowError(Code.UNAVAILABLE, "broker", "The broker could not do this. Please try again.")
