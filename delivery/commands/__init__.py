"""What each command of a client does. A new command: its frame in delivery/protocol/frames.py, its handler here."""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from delivery.commands.define import create
from delivery.commands.post import post
from delivery.commands.read import fetch, pop
from delivery.commands.register import register
from delivery.commands.settle import fail, finish, keepalive
from delivery.commands.subscribe import subscribe, unsubscribe
from delivery.protocol.errors import Code, FrameError, WillowError
from delivery.protocol.frames import (
    Command,
    Create,
    Fail,
    Fetch,
    Finish,
    Keepalive,
    Pop,
    Post,
    Register,
    Subscribe,
    Unsubscribe,
)
from delivery.session import Session

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
}


def handle(session: Session, commands: Iterable[Command | FrameError]) -> None:
    """Take the commands of a frame in their order. None of them waits here, except for a `register` before it."""
    for command in commands:
        if session.held_back is None:
            _take(session, command)
        else:
            session.began()
            session.held_back.append(partial(_take, session, command))


def _take(session: Session, command: Command | FrameError) -> None:
    """Do what a command asks for. A bad one is refused, and harms no other."""
    if isinstance(command, FrameError):
        session.refuse(command.label, command)
        return
    try:
        handler = HANDLERS.get(type(command))
        if handler is None:
            raise _not_served(command)
        handler(session, command)
    except WillowError as error:
        session.refuse(getattr(command, "label", None), error)
    except Exception:
        logger.exception("A %s command failed", _kind(command))
        session.refuse(getattr(command, "label", None), _our_fault())


def _not_served(command: Command) -> WillowError:
    return WillowError(Code.BAD_REQUEST, "type", f"This broker does not serve `{_kind(command)}`.")


def _our_fault() -> WillowError:
    return WillowError(Code.UNAVAILABLE, "broker", "The broker could not do this. Please try again.")


def _kind(command: Command) -> object:
    return type(command).__struct_config__.tag
