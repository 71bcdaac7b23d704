"""Queues and messages."""

from dataclasses import dataclass

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting
from willow_site.setting_sections.common_kinds import MEBIBYTE, SECONDS, SECONDS_PER_YEAR


@dataclass(frozen=True, kw_only=True)
class Messages:
    auto_define: bool = setting(
        "WILLOW_AUTO_DEFINE",
        kinds.switch(),
        "on",
        "Whether an unknown queue is created when it is first used.",
    )
    retry_limit: int = setting(
        "WILLOW_RETRY_LIMIT",
        kinds.whole_number(1, 1_000_000),
        "3",
        "How many failed attempts send a message to the dead letter queue, unless its queue says otherwise.",
        unit="attempts",
    )
    retry_delay: float = setting(
        "WILLOW_RETRY_DELAY",
        SECONDS,
        "0",
        "How long a message waits after its first failed attempt.",
        unit="seconds",
    )
    retry_backoff: float = setting(
        "WILLOW_RETRY_BACKOFF",
        kinds.number(1, 100),
        "2",
        "The factor by which the wait grows after each further failed attempt.",
        unit="factor",
    )
    retry_delay_max: float = setting(
        "WILLOW_RETRY_DELAY_MAX", SECONDS, "300", "The longest wait between two attempts.", unit="seconds"
    )
    heartbeat_timeout: float = setting(
        "WILLOW_HEARTBEAT_TIMEOUT",
        kinds.number(0.1, SECONDS_PER_YEAR),
        "300",
        "How long a claim lasts without a keepalive, unless its queue or its fetch says otherwise.",
        unit="seconds",
    )
    hold_max: float = setting(
        "WILLOW_HOLD_MAX", SECONDS, "3600", "The longest `hold` that a connection may ask for.", unit="seconds"
    )
    dedupe_seconds: float = setting(
        "WILLOW_DEDUPE_SECONDS",
        SECONDS,
        "300",
        "How long the `dedupe` value of a post is remembered.",
        unit="seconds",
    )
    kept_reply_bytes: int = setting(
        "WILLOW_KEPT_REPLY_BYTES",
        kinds.whole_number(65_536, 1024 * 1024 * MEBIBYTE),
        str(1024 * MEBIBYTE),
        "How much the replies of all queues with `keep_replies` may take. Beyond it, those that would go next go.",
        unit="bytes",
    )
    max_clock_skew: float = setting(
        "WILLOW_MAX_CLOCK_SKEW",
        kinds.number(0.1, SECONDS_PER_YEAR),
        "30",
        "How much a worker's clock may differ from the broker's.",
        unit="seconds",
    )
