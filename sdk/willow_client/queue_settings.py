"""The settings of a queue, as keyword arguments of `create`."""

from typing import Literal, TypedDict

from willow_client.arguments import check_choice, check_seconds, check_whole
from willow_client.errors import BadArgument

MOST_ATTEMPTS = 2**31 - 1
MOST_MESSAGES = 2**63 - 1


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
    for name in ("retry_delay", "retry_delay_max", "retention_seconds"):
        check_seconds(name, settings.get(name))  # type: ignore[arg-type]  # the name is a variable
    check_whole("retry_limit", settings.get("retry_limit"), 1, MOST_ATTEMPTS)
    for name in ("max_length", "retention_count"):
        check_whole(name, settings.get(name), 1, MOST_MESSAGES)  # type: ignore[arg-type]
