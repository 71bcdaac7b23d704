"""Fetches whose tags are long, many, and others each time."""

from itertools import count

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over, raw_socket

NAME = "new-tags"
TAGS = 60
TAG_LENGTH = 150  # characters
IN_ONE_FRAME = 20


async def attack(target: Target, seconds: float) -> Spoils:
    end, numbers = deadline(seconds), count()
    async with raw_socket(target) as socket:
        await socket.send({"type": "create", "queue": "tagged", "tags": ["a"], "label": next(numbers)})
        while not is_over(end):
            fetches = [_fetch(next(numbers)) for _ in range(IN_ONE_FRAME)]
            if not await socket.send(*fetches):
                break
        return socket.got


def _fetch(number: int) -> dict[str, object]:
    tags = [f"{number}-{tag}-".ljust(TAG_LENGTH, "x") for tag in range(TAGS)]
    return {"type": "fetch", "queue": "tagged", "tags": tags, "match": "any", "label": number}
