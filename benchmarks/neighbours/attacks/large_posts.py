"""Bodies of megabytes on several sockets at once, each as soon as the one before was answered."""

import asyncio
from collections import Counter

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over, raw_socket

NAME = "large-posts"
SOCKETS = 8
BODY = "x" * 12_000_000


async def attack(target: Target, seconds: float) -> Spoils:
    end = deadline(seconds)
    return sum(await asyncio.gather(*(_post(target, number, end) for number in range(SOCKETS))), Counter())


async def _post(target: Target, number: int, end: float) -> Spoils:
    async with raw_socket(target) as socket:
        posted = 0
        while not is_over(end):
            posted += 1
            post = {"type": "post", "queue": f"large-{number}", "message": BODY, "notify": ["sync"], "label": posted}
            if not await socket.send(post):
                break
            await socket.answered(1 + posted)  # and the hello
        return socket.got
