"""Very many subscriptions to very many queues of one name, and posts to them."""

import asyncio
from collections import Counter

from benchmarks.neighbours.attacker import RawSocket, Spoils, Target, deadline, is_over, raw_socket

NAME = "subscriptions"
QUEUE = "crowd"
QUEUES = 500
SUBSCRIPTIONS = 1000
IN_ONE_FRAME = 100
PAUSE_SECONDS = 0.01  # between posts
COMMON = [f"common-{number}" for number in range(8)]  # tags that all queues have


async def attack(target: Target, seconds: float) -> Spoils:
    end = deadline(seconds)
    async with raw_socket(target) as maker, raw_socket(target) as reader:
        await _send(maker, [_create(number) for number in range(QUEUES)], end)
        await _send(reader, [_subscribe(number) for number in range(SUBSCRIPTIONS)], end)
        number = 0
        while not is_over(end):
            number += 1
            await maker.send({"type": "post", "queue": QUEUE, "tags": _tags(number % QUEUES), "message": "x"})
            await asyncio.sleep(PAUSE_SECONDS)
        return Counter({f"maker {what}": n for what, n in maker.got.items()}) + reader.got


async def _send(socket: RawSocket, commands: list[dict[str, object]], end: float) -> None:
    for begin in range(0, len(commands), IN_ONE_FRAME):
        if is_over(end):
            return
        await socket.send(*commands[begin : begin + IN_ONE_FRAME])
    await socket.answered(len(commands))


def _tags(number: int) -> list[str]:
    return [*COMMON, f"queue-{number}"]


def _create(number: int) -> dict[str, object]:
    return {"type": "create", "queue": QUEUE, "tags": _tags(number), "label": number}


def _subscribe(number: int) -> dict[str, object]:
    tags = [COMMON[number % len(COMMON)], f"other-{number}"]
    return {"type": "subscribe", "queue": QUEUE, "tags": tags, "match": "combined", "label": number}
