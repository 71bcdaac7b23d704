"""What a broker and the processes beside it say to each other: parts, each after its length, over a socket.

It imports little: those processes import it, and what they take, they take beside each broker.
"""

import os
import signal
import socket
import struct
import sys
from collections.abc import Callable

NICENESS = 5  # small messages come first

_length = struct.Struct("!Q")


def send(to: socket.socket, data: bytes) -> None:
    to.sendall(_length.pack(len(data)))
    to.sendall(data)


def receive(by: socket.socket, size: int) -> bytes:
    data = by.recv(size, socket.MSG_WAITALL)
    while len(data) < size:
        more = by.recv(size - len(data), socket.MSG_WAITALL)
        if not more:
            raise EOFError
        data += more
    return data


def receive_part(by: socket.socket) -> bytes:
    (size,) = _length.unpack(receive(by, _length.size))
    return receive(by, size)


def answer_for_ever(answer: Callable[[socket.socket], None]) -> None:
    """What such a process does, which gets the number of its socket: until the broker closes its end, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the broker decides when to stop
    os.nice(NICENESS)
    with socket.socket(fileno=int(sys.argv[1])) as broker:
        while True:
            try:
                answer(broker)
            except (EOFError, ConnectionError):
                return
