"""The attacks, one to a module: `NAME`, and `attack(target, seconds)`, which returns what the attacker got."""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from benchmarks.neighbours.attacker import Spoils, Target
from benchmarks.neighbours.attacks import lookups


class Attack(Protocol):
    NAME: str

    def attack(self, target: Target, seconds: float) -> Awaitable[Spoils]: ...


ATTACKS: Mapping[str, Attack] = {module.NAME: module for module in (lookups,)}
