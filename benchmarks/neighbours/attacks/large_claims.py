"""A thousand messages at a time from a queue whose messages have megabytes."""

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over, raw_socket

NAME = "large-claims"
QUEUE = "heavy"
MESSAGES = 40
BODY = "x" * 8_000_000


async def attack(target: Target, seconds: float) -> Spoils:
    end = deadline(seconds)
    async with raw_socket(target) as poster, raw_socket(target) as taker:
        for number in range(MESSAGES):
            await poster.send({"type": "post", "queue": QUEUE, "message": BODY, "notify": ["sync"], "label": number})
            await poster.answered(2 + number)
            if is_over(end):
                break
        number = 0
        while not is_over(end):
            number += 1
            fetch = {"type": "fetch", "queue": QUEUE, "count": 1000, "work_timeout": 1, "label": number}
            if not await taker.send(fetch):
                break
            await taker.answered(sum(taker.got.values()) + 1)
        return taker.got
