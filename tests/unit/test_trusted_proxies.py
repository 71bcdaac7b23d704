"""Who is calling when a proxy stands in between."""

import ipaddress
from typing import Any

import pytest

from willow_site.trusted_proxies import TrustedProxies


async def caller_seen(trusted: list[str], peer: str, *forwarded_for: str) -> str:
    seen: list[str] = []

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        seen.append(scope["client"][0])

    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded_for]
    networks = [ipaddress.ip_network(network) for network in trusted]
    await TrustedProxies(application, networks)({"client": [peer, 1234], "headers": headers}, None, None)
    return seen[0]


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded_for", "caller"),
    [
        ([], "127.0.0.1", ["203.0.113.9"], "127.0.0.1"),
        (["127.0.0.1"], "127.0.0.1", [], "127.0.0.1"),
        (["127.0.0.1"], "127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        (["10.0.0.0/8"], "203.0.113.9", ["127.0.0.1"], "203.0.113.9"),
        (["10.0.0.0/8"], "10.0.0.1", ["127.0.0.1, 203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        (["10.0.0.0/8"], "10.0.0.1", ["127.0.0.1", "203.0.113.9"], "203.0.113.9"),
        (["10.0.0.0/8"], "10.0.0.1", ["not an address"], "not an address"),
    ],
    ids=[
        "nobody is trusted",
        "the proxy says nothing",
        "one proxy",
        "a stranger cannot claim an address",
        "a chain ends at its first stranger",
        "several headers are one chain",
        "nonsense is nobody's address",
    ],
)
async def test_the_caller_is_the_last_one_that_is_no_trusted_proxy(
    trusted: list[str], peer: str, forwarded_for: list[str], caller: str
) -> None:
    assert await caller_seen(trusted, peer, *forwarded_for) == caller
