"""Posts with a key that ends meanwhile, and reads nothing: neither its answers nor that it is to go."""

import asyncio
from collections import Counter

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over, raw_socket

NAME = "revoked"
KEY_SECONDS = 4  # for which it is good, a little of which is over when the attack begins
IN_ONE_FRAME = 100
POST = {"type": "post", "queue": "late", "message": "x" * 1000, "notify": ["ready", "write", "sync"], "label": 1}


async def attack(target: Target, seconds: float) -> Spoils:
    got: Spoils = Counter()
    end = deadline(seconds)
    async with raw_socket(target, reads=False, query=f"token={target.key}") as mute:
        mute.socket.transport.pause_reading()
        while not is_over(end):
            try:
                async with asyncio.timeout(1):
                    if not await mute.send(*[POST] * IN_ONE_FRAME):
                        break
            except TimeoutError:
                got["not read"] += 1
            if mute.socket.transport.is_closing():
                break
        got["closed" if mute.socket.transport.is_closing() else "left open"] += 1
    return got
