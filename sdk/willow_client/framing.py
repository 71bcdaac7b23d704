"""Frames of the WebSocket protocol (RFC 6455) as a client sends and receives them, without extensions."""

import os
import struct

try:
    from websockets.speedups import apply_mask
except ImportError:
    from websockets.utils import apply_mask

from willow_client.forking import after_fork

# The first byte of a frame: the last or only one of its message (0x80), and what it is.
FIN = 0x80
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
RESERVED_BITS = 0x70  # of extensions, which were not agreed on
MASKED = 0x80  # in the second byte, of frames of clients

# More than any broker sends at once; it only keeps garbage from being taken for a length.
LARGEST_FRAME = 1024 * 1024 * 1024  # bytes


class FramingError(Exception):
    """What came is not the WebSocket protocol."""


def frame(kind: int, payload: bytes) -> bytes:
    length = len(payload)
    if length < 126:
        head = bytes((FIN | kind, MASKED | length))
    elif length < 65536:
        head = struct.pack("!BBH", FIN | kind, MASKED | 126, length)
    else:
        head = struct.pack("!BBQ", FIN | kind, MASKED | 127, length)
    mask = _masks.next()
    return head + mask + apply_mask(payload, mask)


class Masks:
    """Unforeseeable, as the protocol wants them; asking the system for each would cost as much as all of a frame."""

    MANY = 4096  # bytes

    def __init__(self) -> None:
        self._bytes = b""
        self._used = 0

    def next(self) -> bytes:
        if self._used == len(self._bytes):
            self._bytes, self._used = os.urandom(self.MANY), 0
        self._used += 4
        return self._bytes[self._used - 4 : self._used]

    def forget(self) -> None:
        """A process that was forked must not use those of its parent."""
        self._bytes, self._used = b"", 0


_masks = Masks()
after_fork(_masks.forget)


class FrameReader:
    """Takes bytes as they come, and gives frames: their first byte and their payload."""

    def __init__(self) -> None:
        self._rest = bytearray()  # the beginning of a frame
        self._wanted = 0  # bytes that the rest must have before it is worth looking at

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        frames: list[tuple[int, bytes]] = []
        position = 0
        while True:
            start, end = _payload(data, position)
            if end > len(data):
                break
            frames.append((data[position], data[start:end]))
            position = end
        if position < len(data):
            self._rest += data[position:]
        self._wanted = end - position
        return frames


def _payload(data: bytes, position: int) -> tuple[int, int]:
    """Where the payload of the frame at that position begins and ends; the end may be beyond the data."""
    start = position + 2
    if start > len(data):
        return start, start
    length = data[position + 1]
    if length == 126:
        start += 2
        if start > len(data):
            return start, start
        (length,) = struct.unpack_from("!H", data, position + 2)
    elif length == 127:
        start += 8
        if start > len(data):
            return start, start
        (length,) = struct.unpack_from("!Q", data, position + 2)
    elif length & MASKED:
        raise FramingError("The broker sent a masked frame.")
    if data[position] & RESERVED_BITS or length > LARGEST_FRAME:
        raise FramingError("The broker sent a frame that cannot be read.")
    return start, start + length
