"""No attack: how far the figures move by themselves."""

import asyncio
from collections import Counter

from benchmarks.neighbours.attacker import Spoils, Target

NAME = "nothing"


async def attack(target: Target, seconds: float) -> Spoils:
    await asyncio.sleep(seconds)
    return Counter()
