"""The attacks, one to a module: `NAME`, and `attack(target, seconds)`, which returns what the attacker got."""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from benchmarks.neighbours.attacker import Spoils, Target
from benchmarks.neighbours.attacks import large_claims, large_posts, lookups, new_tags, rest_pops, subscriptions


class Attack(Protocol):
    NAME: str

    def attack(self, target: Target, seconds: float) -> Awaitable[Spoils]: ...


ATTACKS: Mapping[str, Attack] = {
    module.NAME: module for module in (lookups, subscriptions, large_posts, large_claims, rest_pops, new_tags)
}
