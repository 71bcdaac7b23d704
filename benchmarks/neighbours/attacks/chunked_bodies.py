"""Bodies of 30 MB over HTTP, in chunks and a hundred at once: each is allowed, and all of them are too much."""

import asyncio
from collections import Counter

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over
from benchmarks.neighbours.attacks.http_bodies import CHUNK, PIECE
from benchmarks.neighbours.http_request import HttpRequest

NAME = "chunked-bodies"
BODY_BYTES = 30_000_000
AT_ONCE = 100


async def attack(target: Target, seconds: float) -> Spoils:
    got: Spoils = Counter()
    end = deadline(seconds)
    await asyncio.gather(*(_send_bodies(target, end, got) for _ in range(AT_ONCE)))
    return got


async def _send_bodies(target: Target, end: float, got: Spoils) -> None:
    """None of them ends: it is kept for as long as the node lets it."""
    while not is_over(end):
        async with HttpRequest(target, "POST /api/messages HTTP/1.1", "Transfer-Encoding: chunked") as request:
            sent = 0
            while not is_over(end) and sent < BODY_BYTES and await request.send(CHUNK):
                sent += len(PIECE)
            got[await request.status()] += 1
