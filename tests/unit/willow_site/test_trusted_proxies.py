"""Who is calling when a proxy stands in between."""

import ipaddress
from typing import Any

import pytest

from willow_site.trusted_proxies import TrustedProxies


async def scope_seen(trusted: list[str], peer: str, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """What the application behind the middleware gets to see."""
    seen: dict[str, Any] = {}

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        seen.update(scope)

    networks = [ipaddress.ip_network(network) for network in trusted]
    scope = {"client": [peer, 1234], "scheme": "http", "headers": headers}
    await TrustedProxies(application, networks)(scope, None, None)
    return seen


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
        (["127.0.0.1"], "127.0.0.1", ["127.0.0.1"], "127.0.0.1"),
        (["10.0.0.0/8"], "10.0.0.1", ["127.0.0.1"], "10.0.0.1"),
        (["127.0.0.1"], "::ffff:127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
    ],
    ids=[
        "nobody is trusted",
        "the proxy says nothing",
        "one proxy",
        "a stranger cannot claim an address",
        "a chain ends at its first stranger",
        "several headers are one chain",
        "nonsense is nobody's address",
        "local to a proxy on this machine",
        "local to a proxy elsewhere",
        "a proxy on a socket for both families",
    ],
)
async def test_the_caller_is_the_last_one_that_is_no_trusted_proxy(
    trusted: list[str], peer: str, forwarded_for: list[str], caller: str
) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded_for]
    assert (await scope_seen(trusted, peer, headers))["client"][0] == caller


@pytest.mark.parametrize(("peer", "left"), [("10.0.0.1", False), ("203.0.113.9", True)], ids=["a proxy", "a stranger"])
async def test_what_a_trusted_proxy_said_is_resolved_and_gone(peer: str, left: bool) -> None:
    seen = await scope_seen(["10.0.0.0/8"], peer, [(b"x-forwarded-for", b"198.51.100.7"), (b"accept", b"*/*")])
    assert [name for name, _ in seen["headers"]] == [b"x-forwarded-for", b"accept"][not left :]


@pytest.mark.parametrize(
    ("peer", "said", "scheme"),
    [("10.0.0.1", b"https", "https"), ("10.0.0.1", b"gopher", "http"), ("203.0.113.9", b"https", "http")],
    ids=["a proxy", "a proxy that says nonsense", "a stranger"],
)
async def test_the_scheme_is_believed_from_a_trusted_proxy(peer: str, said: bytes, scheme: str) -> None:
    seen = await scope_seen(["10.0.0.0/8"], peer, [(b"x-forwarded-proto", said)])
    assert seen["scheme"] == scheme
