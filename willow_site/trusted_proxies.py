"""The caller's address when the connection comes through a proxy."""

import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from willow_site.setting_kinds import Network

Scope = dict[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]


class TrustedProxies:
    """ASGI middleware: puts the caller behind a trusted proxy into `scope["client"]`.

    Everything that asks who is calling reads that one place, so the rule for anonymous callers on this
    machine holds also where a proxy on this machine passes on callers from elsewhere.
    """

    def __init__(self, application: Application, trusted: Iterable[Network]) -> None:
        self._application = application
        self._trusted = tuple(trusted)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if self._trusted and scope.get("client"):
            scope = {**scope, "client": [self._caller(scope), 0]}
        await self._application(scope, receive, send)

    def _caller(self, scope: Scope) -> str:
        """The last address of the chain that is no trusted proxy: anything before it can be made up."""
        caller: str = scope["client"][0]
        for hop in reversed(_forwarded_for(scope)):
            if not self._is_trusted(caller):
                break
            caller = hop
        return caller

    def _is_trusted(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self._trusted)


def _forwarded_for(scope: Scope) -> list[str]:
    values = [value.decode("latin1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return [hop.strip() for hop in ",".join(values).split(",") if hop.strip()]
