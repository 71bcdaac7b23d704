"""The process that decodes large frames. It imports little: what it takes, it takes beside each broker.

The broker starts it as `python -m delivery.gateway.decoder`, with the number of a socket. A frame comes over it with
its size, whether it is binary, and the limits; large bodies go back beside their commands, so that nothing large is
copied while an interpreter is locked.
"""

import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Any

from msgspec.structs import force_setattr

from delivery.protocol import bincode, json
from delivery.protocol.commands import Command
from delivery.protocol.errors import FrameError
from delivery.protocol.limits import Limits
from delivery.protocol.variants import BODY_FIELDS

LARGE_BODY_BYTES = 64 * 1024  # goes beside its command
COMMANDS_AT_ONCE = 100  # are made of what came back, before it is the turn of others
NICENESS = 5  # small messages come first

_length = struct.Struct("!Q")
Decoded = list[Command | FrameError]


def decode(data: bytes, binary: bool, limits: Limits) -> Decoded:
    return bincode.decode(data, limits) if binary else json.decode(data, limits)


def send(to: socket.socket, data: bytes) -> None:
    to.sendall(_length.pack(len(data)))
    to.sendall(data)


def _receive(by: socket.socket, size: int) -> bytes:
    data = by.recv(size, socket.MSG_WAITALL)
    while len(data) < size:
        more = by.recv(size - len(data), socket.MSG_WAITALL)
        if not more:
            raise EOFError
        data += more
    return data


def _receive_part(by: socket.socket) -> bytes:
    (size,) = _length.unpack(_receive(by, _length.size))
    return _receive(by, size)


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
    bodies = {number: _receive_part(by) for number in pickle.loads(_receive_part(by))}
    return _commands(bodies, [_receive_part(by) for _ in range(pickle.loads(_receive_part(by)))])


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


def decode_for_ever(by: socket.socket) -> None:
    """Until the broker closes its end, or is gone."""
    while True:
        try:
            size, binary, limits = pickle.loads(_receive_part(by))
        except (EOFError, ConnectionError):
            return
        _send_answer(by, decode(_receive(by, size), binary, limits))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the broker decides when to stop
    os.nice(NICENESS)
    with socket.socket(fileno=int(sys.argv[1])) as broker:
        decode_for_ever(broker)
