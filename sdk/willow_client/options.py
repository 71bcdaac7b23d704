"""How a client connects: what `connect`, `serve`, `run_worker` and the blocking client share."""

import ssl as tls
from typing import TypedDict

from msgspec import Struct

from willow_client.arguments import check_seconds
from willow_client.bodies import MOST_BODY_BYTES


class Options(Struct, frozen=True, kw_only=True):
    """
    `token`: the key that the broker gave out.
    `hold`: for so many seconds the broker keeps what this client has claimed when the connection is lost. A program
    that is killed gives its messages to the next one only after them.
    `timeout`: seconds after which a call gives up, unless the call says otherwise; None: never.
    `repeat_posts`: posts that were under way when the connection was lost are sent again, and stored once. It costs
    the broker a look for repeats at each post; without it such posts raise `ConnectionLost`.
    `batch`: many commands, and many answers, may share a frame.
    `max_body_bytes`: the largest body that the broker takes, if its operator has changed that.
    `ping_interval`: seconds after which a silent broker is asked for a sign of life, and then given up.
    `ssl`: for wss:// with certificates of one's own.
    """

    token: str | None = None
    hold: float = 10.0
    timeout: float | None = 30.0
    repeat_posts: bool = True
    batch: bool = True
    max_body_bytes: int = MOST_BODY_BYTES
    ping_interval: float = 20.0
    ssl: tls.SSLContext | None = None

    def __post_init__(self) -> None:
        check_seconds("hold", self.hold)
        check_seconds("timeout", self.timeout, above_zero=True)
        check_seconds("ping_interval", self.ping_interval, above_zero=True)

    def headers(self) -> dict[str, str]:
        headers = {"Bytes": "base64"}
        if self.batch:
            headers["Batch"] = "true"
        if self.token is not None:
            headers["Authorization"] = f"Token {self.token}"
        return headers


class OptionArguments(TypedDict, total=False):
    """The same as keyword arguments."""

    token: str | None
    hold: float
    timeout: float | None
    repeat_posts: bool
    batch: bool
    max_body_bytes: int
    ping_interval: float
    ssl: tls.SSLContext | None
