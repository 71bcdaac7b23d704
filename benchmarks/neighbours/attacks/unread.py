"""Asks for all messages of a queue of large ones, over and over, and reads nothing of it."""

import asyncio
from collections import Counter

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over, raw_socket

NAME = "unread"
MESSAGES, BODY = 64, "x" * 250_000
CONNECTIONS = 20
FETCHES = 50
LOOK_SECONDS = 0.1


async def attack(target: Target, seconds: float) -> Spoils:
    got: Spoils = Counter()
    end = deadline(seconds)
    async with raw_socket(target) as poster:
        for _ in range(MESSAGES):
            await poster.send({"type": "post", "queue": "large", "message": BODY, "label": 1})
    await asyncio.gather(*(_never_read(target, end, got) for _ in range(CONNECTIONS)))
    return got


async def _never_read(target: Target, end: float, got: Spoils) -> None:
    async with raw_socket(target, reads=False) as mute:
        mute.socket.transport.pause_reading()
        fetch = {"type": "fetch", "queue": "large", "count": 10_000, "block_timeout": 60, "work_timeout": 1, "label": 1}
        await mute.send(*[fetch] * FETCHES)
        while not is_over(end):
            await asyncio.sleep(LOOK_SECONDS)
            if mute.socket.transport.is_closing():
                got["closed"] += 1
                return
        got["left open"] += 1
