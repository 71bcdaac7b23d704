"""The attacks, one to a module: `NAME`, and `attack(target, seconds)`, which returns what the attacker got."""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from benchmarks.neighbours.attacker import Spoils, Target
from benchmarks.neighbours.attacks import (
    busy_core,
    chunked_bodies,
    half_requests,
    http_bodies,
    huge_frames,
    large_claims,
    large_posts,
    logins,
    lookups,
    many_headers,
    new_tags,
    nothing,
    rest_pops,
    revoked,
    subscriptions,
    tiny_frames,
    unread,
    unread_lists,
)


class Attack(Protocol):
    NAME: str

    def attack(self, target: Target, seconds: float) -> Awaitable[Spoils]: ...


AT_THE_ENGINE = (lookups, subscriptions, large_posts, many_headers, large_claims, rest_pops, new_tags)
AT_THE_DOORS = (
    revoked,
    http_bodies,
    chunked_bodies,
    half_requests,
    logins,
    unread,
    unread_lists,
    huge_frames,
    tiny_frames,
)
ATTACKS: Mapping[str, Attack] = {module.NAME: module for module in (nothing, busy_core, *AT_THE_ENGINE, *AT_THE_DOORS)}
