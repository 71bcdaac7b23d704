"""Fetches of queues that nobody has heard of, as fast as one socket takes them."""

from itertools import count

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over, raw_socket

NAME = "lookups"
IN_ONE_FRAME = 200


async def attack(target: Target, seconds: float) -> Spoils:
    end, numbers = deadline(seconds), count()
    async with raw_socket(target) as socket:
        while not is_over(end):
            labels = [next(numbers) for _ in range(IN_ONE_FRAME)]
            if not await socket.send(*({"type": "fetch", "queue": f"unknown-{n}", "label": n} for n in labels)):
                break
        return socket.got
