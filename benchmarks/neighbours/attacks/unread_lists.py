"""Asks for a long list of queues, over and over, and reads nothing of it: short commands with long answers."""

import asyncio
from collections import Counter

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over, raw_socket

NAME = "unread-lists"
QUEUES = 2_000
AT_ONCE = 100
CONNECTIONS = 20
LOOK_SECONDS = 0.1


async def attack(target: Target, seconds: float) -> Spoils:
    got: Spoils = Counter()
    end = deadline(seconds)
    async with raw_socket(target) as maker:
        for begin in range(0, QUEUES, AT_ONCE):
            numbers = range(begin, begin + AT_ONCE)
            await maker.send(*({"type": "create", "queue": "listed", "tags": [str(number)]} for number in numbers))
            await maker.answered(1 + begin + AT_ONCE)
    await asyncio.gather(*(_never_read(target, end, got) for _ in range(CONNECTIONS)))
    return got


async def _never_read(target: Target, end: float, got: Spoils) -> None:
    async with raw_socket(target, reads=False) as mute:
        mute.socket.transport.pause_reading()
        while not is_over(end):
            if mute.socket.transport.is_closing():
                got["closed"] += 1
                return
            await mute.send(*({"type": "subscribe", "queue": "listed", "label": label} for label in range(AT_ONCE)))
            await asyncio.sleep(LOOK_SECONDS)
        got["left open"] += 1
