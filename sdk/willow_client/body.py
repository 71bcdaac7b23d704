"""What messages and requests carry."""

from willow_client.frames import JsonBody, from_json_body


class WithBody:
    __slots__ = ("_body",)

    def __init__(self, body: JsonBody) -> None:
        self._body = body

    @property
    def body(self) -> bytes:
        return from_json_body(self._body)

    @property
    def text(self) -> str:
        return self._body if isinstance(self._body, str) else bytes(self._body).decode()
