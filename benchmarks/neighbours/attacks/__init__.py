"""The attacks, one to a module: `NAME`, and `attack(target, seconds)`, which returns what the attacker got."""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from benchmarks.neighbours.attacker import Spoils, Target
from benchmarks.neighbours.attacks import (
    half_requests,
    http_bodies,
    huge_frames,
    logins,
    lookups,
    revoked,
    tiny_frames,
    unread,
)


class Attack(Protocol):
    NAME: str

    def attack(self, target: Target, seconds: float) -> Awaitable[Spoils]: ...


MODULES = (lookups, revoked, http_bodies, half_requests, logins, unread, huge_frames, tiny_frames)
ATTACKS: Mapping[str, Attack] = {module.NAME: module for module in MODULES}
