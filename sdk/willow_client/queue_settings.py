"""The settings of a queue, as keyword arguments of `create`."""

from typing import Literal, TypedDict

from willow_client.arguments import check_choice, check_flag, check_number, check_seconds, check_whole
from willow_client.errors import BadArgument

MOST_ATTEMPTS = 2**31 - 1
MOST_MESSAGES = 2**63 - 1
MOST_BACKOFF = 100.0
MOST_PER_SECOND = 1_000_000.0


class QueueSettings(TypedDict, total=False):
    """What is left out is as the broker's operator set it."""

    kind: Literal["work", "stream"]
    retry_limit: int  # failed attempts after which a message goes to the dead letter queue
    heartbeat_timeout: float  # seconds that a claim lasts without a keepalive
    retry_delay: float  # seconds before the second attempt
    retry_backoff: float  # the factor by which that grows with each further attempt
    retry_delay_max: float  # seconds that it never exceeds
    max_length: int  # messages
    overflow: Literal["reject", "drop_oldest"]  # what happens to a post when the queue is full
    updatable: bool  # whether `key` replaces waiting messages
    retention_seconds: float  # of streams
    retention_count: int  # messages, of streams
    retention_acked: bool  # of streams
    keep_bodies: bool  # whether the journal keeps bodies
    group_in_flight: int  # of each group, so many messages are claimed at a time
    max_in_flight: int  # claims at a time, over all clients
    rate: float  # messages a second that are handed out
    burst: float  # messages that are handed out at once after a pause
    keep_replies: float  # seconds for which replies can be asked for


def check_settings(settings: QueueSettings) -> None:
    unknown = settings.keys() - QueueSettings.__annotations__.keys()
    if unknown:
        known = ", ".join(sorted(QueueSettings.__annotations__))
        raise BadArgument(min(unknown), f"There is no such setting of a queue. There are: {known}.")
    if "kind" in settings:
        check_choice("kind", settings["kind"], ("work", "stream"))
    if "overflow" in settings:
        check_choice("overflow", settings["overflow"], ("reject", "drop_oldest"))
    check_seconds("heartbeat_timeout", settings.get("heartbeat_timeout"), above_zero=True)
    for name in ("retry_delay", "retry_delay_max", "retention_seconds", "keep_replies"):
        check_seconds(name, settings.get(name))  # type: ignore[arg-type]  # the name is a variable
    check_whole("retry_limit", settings.get("retry_limit"), 1, MOST_ATTEMPTS)
    for name in ("max_length", "retention_count"):
        check_whole(name, settings.get(name), 1, MOST_MESSAGES)  # type: ignore[arg-type]
    for name in ("group_in_flight", "max_in_flight"):
        check_whole(name, settings.get(name), 1, MOST_ATTEMPTS)  # type: ignore[arg-type]
    check_number("retry_backoff", settings.get("retry_backoff"), 1, MOST_BACKOFF)
    check_number("rate", settings.get("rate"), 0, MOST_PER_SECOND, above_least=True)
    check_number("burst", settings.get("burst"), 1, MOST_PER_SECOND)
    for name in ("updatable", "retention_acked", "keep_bodies"):
        check_flag(name, settings.get(name))
