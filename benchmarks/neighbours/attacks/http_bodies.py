"""Bodies of a gigabyte over HTTP, announced or in chunks, to addresses that want none."""

import asyncio
from collections import Counter

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over
from benchmarks.neighbours.http_request import HttpRequest

NAME = "http-bodies"
GIGABYTE = 1_000_000_000
PIECE = bytes(64 * 1024)
CHUNK = b"%x\r\n%b\r\n" % (len(PIECE), PIECE)
AT_ONCE = 4


async def attack(target: Target, seconds: float) -> Spoils:
    got: Spoils = Counter()
    end = deadline(seconds)
    await asyncio.gather(*(_send_bodies(target, end, number, got) for number in range(AT_ONCE)))
    return got


async def _send_bodies(target: Target, end: float, number: int, got: Spoils) -> None:
    while not is_over(end):
        announced = number % 2 == 0
        length = f"Content-Length: {GIGABYTE}" if announced else "Transfer-Encoding: chunked"
        async with HttpRequest(target, "POST /nowhere HTTP/1.1", length) as request:
            sent = 0
            while not is_over(end) and sent < GIGABYTE and await request.send(PIECE if announced else CHUNK):
                sent += len(PIECE)
            got[await request.status()] += 1
