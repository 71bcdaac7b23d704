"""How many connections there may be, of one address and in all."""

import ipaddress
from types import SimpleNamespace
from typing import Any

import pytest

from willow_site.server.connections import RESERVED_FILES, Connections

PROXY = ipaddress.ip_network("10.0.0.0/8")


@pytest.fixture
def connections() -> Connections:
    return Connections(files=RESERVED_FILES + 6, most_of_address=2, trusted=[PROXY])


def refusal(connections: Connections, address: str) -> str | None:
    found = connections.came(address)
    return found.answer.decode() if found else None


def test_an_address_may_have_so_many(connections: Connections) -> None:
    assert [refusal(connections, "192.0.2.1") for _ in range(2)] == [None, None]
    told = refusal(connections, "192.0.2.1")
    assert told is not None and told.startswith("HTTP/1.1 503") and "at most 2 connections" in told
    assert refusal(connections, "192.0.2.2") is None
    for _ in range(2):  # also the refused one ends
        connections.went("192.0.2.1")
    assert refusal(connections, "192.0.2.1") is None


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3"])
def test_this_machine_and_trusted_proxies_have_no_limit_of_their_own(connections: Connections, address: str) -> None:
    assert [refusal(connections, address) for _ in range(6)] == [None] * 6


def test_who_has_waited_longest_with_half_a_request_makes_room(connections: Connections) -> None:
    aborted: list[str] = []

    def channel(name: str) -> Any:
        return SimpleNamespace(name=name, transport=SimpleNamespace(abortConnection=lambda: aborted.append(name)))

    class Channel(SimpleNamespace):
        __hash__ = object.__hash__

    halves = [Channel(**vars(channel(name))) for name in ("first", "second")]
    for half in halves:
        connections.came("127.0.0.1")
        connections.waits(half)
    assert [refusal(connections, "127.0.0.1") for _ in range(4)] == [None] * 4
    assert refusal(connections, "127.0.0.1") is None
    assert aborted == ["first"]
    connections.waits_no_longer(halves[1])
    told = refusal(connections, "127.0.0.1")
    assert told is not None and "at most 6 connections" in told
