"""Posts messages that are all headers to 64 queues at once: each kilobyte that is sent is stored 64 times."""

from collections import Counter

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over, raw_socket

NAME = "headers"
QUEUES = [f"headers-{number}" for number in range(64)]
HEADERS = {f"h-{number}": "x" * 4000 for number in range(4)}
AT_ONCE = 64
MOST_MESSAGES = 50_000  # stored, so that the disk is not what is measured


async def attack(target: Target, seconds: float) -> Spoils:
    got: Spoils = Counter()
    end, sent = deadline(seconds), 0
    post = {"type": "post", "queue": QUEUES, "message": "x", "headers": HEADERS, "label": 1, "notify": ["ready"]}
    async with raw_socket(target) as socket:
        while not is_over(end) and sent < MOST_MESSAGES and await socket.send(*[post] * AT_ONCE):
            sent += AT_ONCE * len(QUEUES)
        got.update(socket.got)
    return got
