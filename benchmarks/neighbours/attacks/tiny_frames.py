"""The smallest frames there are, pings and fragments of one byte, half a megabyte of them a second."""

import asyncio

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over, raw_socket

NAME = "tiny-frames"
BYTES_PER_SECOND = 500_000
BURSTS_PER_SECOND = 20
NO_MASK = bytes(4)
TEXT = b"\x81\x82" + NO_MASK + b"{}"
PING = b"\x89\x80" + NO_MASK
FIRST, NEXT, LAST = (bytes([kind, 0x81]) + NO_MASK + b"x" for kind in (0x01, 0x00, 0x80))
FRAGMENTS = FIRST + NEXT * 200 + LAST
KINDS = (TEXT, PING, FRAGMENTS)


async def attack(target: Target, seconds: float) -> Spoils:
    end = deadline(seconds)
    size = BYTES_PER_SECOND // BURSTS_PER_SECOND // len(KINDS)
    burst = b"".join(kind * (size // len(kind)) for kind in KINDS)
    async with raw_socket(target) as socket:
        transport = socket.socket.transport
        while not is_over(end) and not transport.is_closing():
            transport.write(burst)
            await asyncio.sleep(1 / BURSTS_PER_SECOND)
        return socket.got
