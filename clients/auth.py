"""Who is connecting: the key they show, or nobody if this server lets nobody in."""

import hashlib
import ipaddress
import json
from collections.abc import Container, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection

from clients.address_ranges import is_within
from clients.principal import ANONYMOUS, Principal
from clients.quotas import Quotas, effective_quotas, read_quotas
from clients.statements import statement

SCHEME = "Token"
# TrustedProxies takes away what it has resolved, so one of these means a proxy that nobody vouches for.
FORWARDING_HEADERS = ("x-forwarded-for", "forwarded")


def shown_key(authorization: str, token: str | None) -> str | None:
    """The key of `Authorization: Token <key>`, or of `?token=<key>` where headers cannot be set."""
    scheme, _, key = authorization.partition(" ")
    return key.strip() if scheme.lower() == SCHEME.lower() else token or None


def key_digest(key: str) -> str:
    """Keys are long and random, so a plain hash is enough and stays fast at every connection."""
    return hashlib.sha256(key.encode()).hexdigest()


def anonymous_principal(address: str, headers: Container[str]) -> Principal | None:
    """What a caller without a key is, or None if it may not come in. Names of headers are in lower case.

    A caller that a proxy passed on is not on this machine, whatever the proxy's own address is.
    """
    rule = settings.WILLOW.anonymous
    return _anonymous() if is_let_in(rule, address, headers) else None


@cache
def _anonymous() -> Principal:
    own = read_quotas(settings.WILLOW.anonymous_quotas)
    return replace(ANONYMOUS, quotas=Quotas(**own)) if own else ANONYMOUS


def is_let_in(rule: str, address: str, headers: Container[str]) -> bool:
    """By a rule `all`, `loopback` or `none`."""
    return rule == "all" or (rule == "loopback" and _is_loopback(address) and not _was_forwarded(headers))


def _was_forwarded(headers: Container[str]) -> bool:
    return any(name in headers for name in FORWARDING_HEADERS)


def _is_loopback(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


async def principal_of_key(connection: AsyncConnection[Any], key: str, address: str) -> Principal | None:
    """The owner of a valid key that is good for this caller's address."""
    cursor = await connection.execute(statement("find_key"), {"digest": key_digest(key)})
    return good_from(address, principal_from_rows(await cursor.fetchall()))


def good_from(address: str, principal: Principal | None) -> Principal | None:
    return principal if principal is not None and is_within(address, principal.addresses) else None


def principal_from_rows(rows: Sequence[Any]) -> Principal | None:
    """The owner of one key, as find_key.sql finds it: a row for each grant, or one without a pattern."""
    if not rows:
        return None
    key_id, client_id, client_name, quotas, addresses, _, _ = rows[0]
    by_pattern = {pattern: frozenset(permissions) for *_, pattern, permissions in rows if pattern is not None}
    # Sorted, so that the same grants make an equal principal in whatever order they were read.
    grants = tuple(sorted(by_pattern.items()))
    return Principal(
        client_id=client_id,
        client_name=client_name,
        key_id=key_id,
        grants=grants,
        quotas=effective_quotas(quotas if isinstance(quotas, dict) else json.loads(quotas)),
        addresses=tuple(addresses),
    )
