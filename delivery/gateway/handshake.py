"""What a client asks for when it connects."""

import math
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings

from clients.auth import shown_key
from delivery.protocol import bincode, json
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.limits import Limits

Encoder = json.Encoder | bincode.Encoder


class Handshake:
    """Read from headers, or from the query string where a client cannot set headers."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.headers = {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope["headers"]}
        self._query = parse_qs(scope.get("query_string", b"").decode("latin1"))
        self.address: str = scope["client"][0] if scope.get("client") else ""

    def asks_for(self, name: str) -> bool:
        return (self.headers.get(name) or self._argument(name) or "").strip().lower() == "true"

    def encoder(self, limits: Limits) -> Encoder:
        """What writes frames as this client reads them."""
        if self.asks_for("binary"):
            return bincode.Encoder(limits, extras=self.asks_for("extras"))
        return json.Encoder(limits, base64=self._form_of_bytes() == "base64")

    def check_form_of_bytes(self) -> None:
        if (form := self._form_of_bytes()) not in (None, "base64"):
            raise WillowError(Code.BAD_REQUEST, "bytes", f"`bytes` must be base64, not {form!r}.")

    def _form_of_bytes(self) -> str | None:
        given = self.headers.get("bytes") or self._argument("bytes")
        return given.strip().lower() if given else None

    @property
    def key(self) -> str | None:
        return shown_key(self.headers.get("authorization", ""), self._argument("token"))

    @property
    def resumed_id(self) -> str | None:
        """None also for an id with NUL: no session has one, and PostgreSQL refuses such a text."""
        given = self._argument("id")
        return None if given is None or "\0" in given else given

    def hold_seconds(self) -> float:
        given = self._argument("hold")
        if given is None:
            return 0.0
        try:
            seconds = float(given)
        except ValueError:
            seconds = math.nan
        if not seconds >= 0:  # also refuses NaN
            raise WillowError(
                Code.BAD_REQUEST, "hold", f"`hold` must be a number of seconds, 0 or more, not {given!r}."
            )
        return min(seconds, settings.WILLOW.hold_max)

    def _argument(self, name: str) -> str | None:
        values = self._query.get(name)
        return values[0] if values else None
