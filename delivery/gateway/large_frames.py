"""Large frames are decoded in a process of their own: no other client waits for that.

A frame of 32 MB takes up to a second, during which a thread would keep the interpreter to itself. The frame goes there,
and large bodies come back, through a socket and by a thread: the system copies them without the interpreter. It is one
frame at a time, whoever sends them, so that all of them take the memory of one.
"""

import asyncio
import logging
import pickle
import socket
import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from multiprocessing.process import BaseProcess
from typing import Any

from msgspec.structs import force_setattr

from delivery.gateway.side_process import begin_beside, fresh_process
from delivery.protocol import bincode, json
from delivery.protocol.commands import Command
from delivery.protocol.errors import Code, FrameError
from delivery.protocol.json.too_large import too_large as json_too_large
from delivery.protocol.limits import FrameEnds, Limits
from delivery.protocol.variants import BODY_FIELDS

logger = logging.getLogger(__name__)

LARGE_BYTES = 1024 * 1024  # below that, a frame takes less than it takes to send it to another process and back
LARGE_BODY_BYTES = 64 * 1024  # goes beside its command
COMMANDS_AT_ONCE = 100  # are made of what came back, before it is the turn of others
NICENESS = 5  # small messages come first
MOST_KEPT = 2  # frames of the largest size, or as many bytes of smaller ones
MOST_KEPT_FOR_LITTLE = 3  # beside which a little one may wait
LITTLE_PART = 8  # of the largest frame: whoever sends no more than that sends little

_length = struct.Struct("!Q")
Decoded = list[Command | FrameError]


def decode(data: bytes, binary: bool, limits: Limits) -> Decoded:
    return bincode.decode(data, limits) if binary else json.decode(data, limits)


class LargeFrames:
    """The process is made when first needed. If it is killed, a frame is decoded here, and the next gets a new one."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._kept_bytes = 0  # of frames that wait to be decoded, or whose commands wait to be handled
        self._process: BaseProcess | None = None
        self._socket: socket.socket | None = None

    @asynccontextmanager
    async def decoded(
        self, pieces: Sequence[bytes], binary: bool, limits: Limits
    ) -> AsyncIterator[Iterator[Command | FrameError]]:
        """The commands of a frame that came in pieces, made one after the other as they are asked for, which is done
        inside."""
        size = sum(map(len, pieces))
        if not self._has_room_for(size, limits):
            yield iter([_overloaded(pieces, binary, limits)])
            return
        self._kept_bytes += size
        try:
            async with self._turn:
                commands = await self._decoded_by_thread(pieces, binary, limits)
            del pieces  # they are kept no longer than until they are commands
            yield commands
        finally:
            self._kept_bytes -= size

    def _has_room_for(self, size: int, limits: Limits) -> bool:
        most = MOST_KEPT_FOR_LITTLE if size <= limits.max_frame_bytes // LITTLE_PART else MOST_KEPT
        return self._kept_bytes + size <= most * limits.max_frame_bytes

    async def _decoded_by_thread(
        self, pieces: Sequence[bytes], binary: bool, limits: Limits
    ) -> Iterator[Command | FrameError]:
        asking = asyncio.ensure_future(asyncio.to_thread(self._decoded, pieces, binary, limits))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:  # its client has gone: the next one must not get its answer
            await asyncio.wait({asking})
            raise

    def _decoded(self, pieces: Sequence[bytes], binary: bool, limits: Limits) -> Iterator[Command | FrameError]:
        try:
            beside = self._socket or self._start()
            _send(beside, pickle.dumps((sum(map(len, pieces)), binary, limits)))
            for piece in pieces:
                beside.sendall(piece)
            return _commands(*_receive_answer(beside))
        except (OSError, EOFError):
            logger.warning("The process that decodes large frames has ended. Another one will be started.")
            self.end()
            return iter(decode(b"".join(pieces), binary, limits))

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = fresh_process(_decode_for_ever, theirs)
        self._socket = ours
        return ours

    @property
    def process_number(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def end(self) -> None:
        """End the process. The next frame gets a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


large_frames = LargeFrames()


def _overloaded(pieces: Sequence[bytes], binary: bool, limits: Limits) -> FrameError:
    """With its label, if that can be seen without decoding all of it."""
    ends = FrameEnds(*pieces)
    label = (bincode.too_large(ends, limits) if binary else json_too_large(ends, limits)).label
    return FrameError(Code.OVERLOADED, "node", "This node has many large frames to decode. Please try again.", label)


# how frames and commands go from one process to the other


def _send(to: socket.socket, data: bytes) -> None:
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
    _send(to, pickle.dumps(list(bodies)))
    for body in bodies.values():
        _send(to, body)
    begins = range(0, len(commands), COMMANDS_AT_ONCE)
    parts = [pickle.dumps(commands[begin : begin + COMMANDS_AT_ONCE]) for begin in begins]
    _send(to, pickle.dumps(len(parts)))
    for part in parts:
        _send(to, part)


def _receive_answer(by: socket.socket) -> tuple[dict[int, bytes], list[bytes]]:
    """Large bodies, by the number of their command, and the commands."""
    bodies = {number: _receive_part(by) for number in pickle.loads(_receive_part(by))}
    return bodies, [_receive_part(by) for _ in range(pickle.loads(_receive_part(by)))]


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


def _decode_for_ever(by: socket.socket, broker: int) -> None:
    """What the other process does."""
    begin_beside(broker, NICENESS)
    while True:
        try:
            size, binary, limits = pickle.loads(_receive_part(by))
        except EOFError:
            return
        _send_answer(by, decode(_receive(by, size), binary, limits))
