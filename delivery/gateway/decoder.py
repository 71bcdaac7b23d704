"""The process that decodes large frames. It imports little: what it takes, it takes beside each broker.

The broker starts it as `python -m delivery.gateway.decoder`, with the number of a socket. A frame comes over it with
its size, whether it is binary, and the limits; large bodies go back beside their commands, so that nothing large is
copied while an interpreter is locked.
"""

import pickle
import socket
from collections.abc import Iterator
from typing import Any

from msgspec.structs import force_setattr

from delivery.gateway.side_socket import answer_for_ever, receive, receive_part, send
from delivery.protocol import bincode, json
from delivery.protocol.commands import Command
from delivery.protocol.errors import FrameError
from delivery.protocol.limits import Limits
from delivery.protocol.variants import BODY_FIELDS

LARGE_BODY_BYTES = 64 * 1024  # goes beside its command
COMMANDS_AT_ONCE = 100  # are made of what came back, before it is the turn of others

Decoded = list[Command | FrameError]


def decode(data: bytes, binary: bool, limits: Limits) -> Decoded:
    return bincode.decode(data, limits) if binary else json.decode(data, limits)


def _send_answer(to: socket.socket, commands: Decoded) -> None:
    bodies = {number: body for number, command in enumerate(commands) if (body := _taken_out(command)) is not None}
    send(to, pickle.dumps(list(bodies)))
    for body in bodies.values():
        send(to, body)
    begins = range(0, len(commands), COMMANDS_AT_ONCE)
    parts = [pickle.dumps(commands[begin : begin + COMMANDS_AT_ONCE]) for begin in begins]
    send(to, pickle.dumps(len(parts)))
    for part in parts:
        send(to, part)


def receive_answer(by: socket.socket) -> Iterator[Command | FrameError]:
    """All of it is received at once. The commands are made one after the other, as they are asked for."""
    bodies = {number: receive_part(by) for number in pickle.loads(receive_part(by))}
    return _commands(bodies, [receive_part(by) for _ in range(pickle.loads(receive_part(by)))])


def _taken_out(command: Command | FrameError) -> bytes | None:
    """The body of a command, which is left without one, if it is large."""
    if not isinstance(command, Command) or (field := BODY_FIELDS.get(type(command))) is None:
        return None
    body: Any = getattr(command, field)
    if body is None or len(body) < LARGE_BODY_BYTES:
        return None
    force_setattr(command, field, b"")
    return bytes(body)


def _commands(bodies: dict[int, bytes], parts: list[bytes]) -> Iterator[Command | FrameError]:
    number = 0
    for part in parts:
        for command in pickle.loads(part):
            if isinstance(command, Command) and (body := bodies.pop(number, None)) is not None:
                force_setattr(command, BODY_FIELDS[type(command)], body)
            yield command
            number += 1


def answer(broker: socket.socket) -> None:
    size, binary, limits = pickle.loads(receive_part(broker))
    _send_answer(broker, decode(receive(broker, size), binary, limits))


if __name__ == "__main__":
    answer_for_ever(answer)
