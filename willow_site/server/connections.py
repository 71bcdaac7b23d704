"""How many connections there are, from each address and in all, and who makes room when there are too many."""

import ipaddress
import resource
from collections import Counter
from collections.abc import Iterable
from typing import Any

from willow_site.server.http_refusal import Refusal, node_is_full, too_many_connections
from willow_site.setting_kinds import Network

RESERVED_FILES = 128  # for the database, Redis, logs and pages
MOST_FILES = 1_048_576


def raise_file_limit() -> int:
    """Let this process open as many files as the system allows it. Returns how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):  # macOS allows less than it says
            return soft
        return wanted
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


class Connections:
    """Of this process. Callers on this machine and trusted proxies, who stand for many, have no limit of their own."""

    def __init__(self, *, files: int, most_of_address: int, trusted: Iterable[Network]) -> None:
        self._most = max(1, files - RESERVED_FILES)
        self._most_of_address = most_of_address
        self._trusted = tuple(trusted)
        self._by_address: Counter[str] = Counter()
        self._count = 0
        self._waiting: dict[Any, None] = {}  # those whose request has not come whole, longest-waiting first

    def came(self, address: str) -> Refusal | None:
        """Count a connection, which must be told to `went` in any case. Returns why it cannot stay."""
        self._count += 1
        self._by_address[address] += 1
        if self._count > self._most and not self._make_room():
            return node_is_full(self._most)
        if self._most_of_address and self._by_address[address] > self._most_of_address and not self._is_exempt(address):
            return too_many_connections(self._most_of_address)
        return None

    def went(self, address: str) -> None:
        self._count -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def waits(self, channel: Any) -> None:
        self._waiting.pop(channel, None)
        self._waiting[channel] = None

    def waits_no_longer(self, channel: Any) -> None:
        self._waiting.pop(channel, None)

    def _make_room(self) -> bool:
        """Whoever has waited longest with half a request goes."""
        for channel in self._waiting:
            del self._waiting[channel]
            channel.transport.abortConnection()
            return True
        return False

    def _is_exempt(self, host: str) -> bool:
        try:
            parsed = ipaddress.ip_address(host)
        except ValueError:
            return False
        address = getattr(parsed, "ipv4_mapped", None) or parsed
        return address.is_loopback or any(address in network for network in self._trusted)
