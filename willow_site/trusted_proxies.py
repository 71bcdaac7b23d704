"""What a trusted proxy in front of the broker says about the caller."""

import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from willow_site.setting_kinds import Network

Scope = dict[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]

SCHEMES = ("http", "https", "ws", "wss")
FORWARDED_FOR = b"x-forwarded-for"


class TrustedProxies:
    """ASGI middleware: puts the caller behind a trusted proxy, and the scheme it used, into the scope.

    Everything that asks who is calling reads `scope["client"]`, so the rule for anonymous callers on this
    machine holds also where a proxy on this machine passes on callers from elsewhere. The header is taken away
    once it is resolved: whoever finds one knows that a proxy set it which is not to be trusted.
    """

    def __init__(self, application: Application, trusted: Iterable[Network]) -> None:
        self._application = application
        self._trusted = tuple(trusted)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope.get("client") and self._is_trusted(scope["client"][0]):
            headers = [(name, value) for name, value in scope["headers"] if name != FORWARDED_FOR]
            scope = {**scope, "client": [self._caller(scope), 0], "scheme": _scheme(scope), "headers": headers}
        await self._application(scope, receive, send)

    def _caller(self, scope: Scope) -> str:
        """The last address of the chain that is no trusted proxy: anything before it can be made up."""
        caller: str = scope["client"][0]
        for hop in reversed(_values(scope, FORWARDED_FOR)):
            # What is local to a proxy elsewhere is not local here: then that proxy stands for its caller.
            if not self._is_trusted(caller) or (_is_loopback(hop) and not _is_loopback(caller)):
                break
            caller = hop
        return caller

    def _is_trusted(self, host: str) -> bool:
        address = _address(host)
        return address is not None and any(address in network for network in self._trusted)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None if the text is not an address; an IPv4 caller of a socket for both families is an IPv4 caller."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return address is not None and address.is_loopback


def _scheme(scope: Scope) -> str:
    """How the caller reached the last proxy: Django checks the origin of forms against it."""
    said = _values(scope, b"x-forwarded-proto")
    return said[-1] if said and said[-1] in SCHEMES else scope.get("scheme", "http")


def _values(scope: Scope, wanted: bytes) -> list[str]:
    """All values of a header that may stand several times and hold several, separated by commas."""
    lines = [value.decode("latin1") for name, value in scope["headers"] if name == wanted]
    return [value.strip() for value in ",".join(lines).split(",") if value.strip()]
