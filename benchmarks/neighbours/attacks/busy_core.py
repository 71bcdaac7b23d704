"""No attack either: the attacker computes as hard as it can, and the node never hears of it.

By how much the bystander's times grow then is owed to the cores that both share.
"""

import asyncio
from collections import Counter

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over

NAME = "busy-core"
ROUND = 10_000


async def attack(target: Target, seconds: float) -> Spoils:
    end = deadline(seconds)
    while not is_over(end):
        sum(range(ROUND))
        await asyncio.sleep(0)
    return Counter()
