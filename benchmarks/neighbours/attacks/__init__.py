"""The attacks, one to a module: `NAME`, and `attack(target, seconds)`, which returns what the attacker got."""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from benchmarks.neighbours.attacker import Spoils, Target
from benchmarks.neighbours.attacks import (
    half_requests,
    http_bodies,
    huge_frames,
    large_claims,
    large_posts,
    logins,
    lookups,
    new_tags,
    nothing,
    rest_pops,
    revoked,
    subscriptions,
    tiny_frames,
    unread,
)


class Attack(Protocol):
    NAME: str

    def attack(self, target: Target, seconds: float) -> Awaitable[Spoils]: ...


AT_THE_ENGINE = (lookups, subscriptions, large_posts, large_claims, rest_pops, new_tags)
AT_THE_DOORS = (revoked, http_bodies, half_requests, logins, unread, huge_frames, tiny_frames)
ATTACKS: Mapping[str, Attack] = {module.NAME: module for module in (nothing, *AT_THE_ENGINE, *AT_THE_DOORS)}
