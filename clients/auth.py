"""Who is connecting: the key they show, or nobody if this server lets nobody in."""

import hashlib
import ipaddress
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection

from clients.principal import ANONYMOUS, Principal
from clients.statements import statement


def key_digest(key: str) -> str:
    """Keys are long and random, so a plain hash is enough and stays fast at every connection."""
    return hashlib.sha256(key.encode()).hexdigest()


def anonymous_principal(address: str, *, came_through_proxy: bool) -> Principal | None:
    """What a caller without a key is, or None if it may not come in.

    A caller that a proxy passed on is not on this machine, whatever the proxy's own address is.
    """
    rule = settings.WILLOW.anonymous
    if rule == "all" or (rule == "loopback" and not came_through_proxy and _is_loopback(address)):
        return ANONYMOUS
    return None


def _is_loopback(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def came_through_proxy(forwarded: bool) -> bool:
    """Whether a forwarded caller's real address is unknown: it is known where the proxy is a trusted one."""
    return forwarded and not settings.WILLOW.trusted_proxies


async def principal_of_key(connection: AsyncConnection[Any], key: str) -> Principal | None:
    cursor = await connection.execute(statement("find_key"), {"digest": key_digest(key)})
    return principal_from_rows(await cursor.fetchall())


def principal_from_rows(rows: Sequence[Any]) -> Principal | None:
    """The principal that find_key.sql found: a row for each grant, or one without a pattern."""
    if not rows:
        return None
    key_id, client_id, client_name, _, _ = rows[0]
    grants = tuple((pattern, frozenset(permissions)) for *_, pattern, permissions in rows if pattern is not None)
    return Principal(client_id=client_id, client_name=client_name, key_id=key_id, grants=grants)
