"""How long calls may take: as they say, or else as the client says."""

from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from willow_client.arguments import check_seconds

if TYPE_CHECKING:
    from willow_client.connection import Connection


MOST_AT_ONCE = 10_000  # messages of one fetch or pop, and posts under way of one post_many


class _NotGiven(Enum):
    token = 0


NotGiven: Final = _NotGiven.token
Limit: TypeAlias = float | _NotGiven | None  # seconds; None: no limit


def limit(connection: "Connection", timeout: Limit, beyond: float = 0.0) -> float | None:
    """`beyond`: seconds that the caller asked the broker to wait, which the client's own limit does not cut short."""
    if timeout is NotGiven:
        usual = connection.options.timeout
        return None if usual is None else usual + beyond
    return check_seconds("timeout", timeout, above_zero=True)
