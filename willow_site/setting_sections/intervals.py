"""Intervals."""

from dataclasses import dataclass

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting
from willow_site.setting_sections.common_kinds import SHORT_INTERVAL


@dataclass(frozen=True, kw_only=True)
class Intervals:
    node_heartbeat: float = setting(
        "WILLOW_NODE_HEARTBEAT",
        SHORT_INTERVAL,
        "1",
        "How often a node writes its heartbeat.",
        unit="seconds",
    )
    node_lapse: float = setting(
        "WILLOW_NODE_LAPSE",
        SHORT_INTERVAL,
        "5",
        "How long after its last heartbeat a node counts as dead; must be more than the heartbeat interval.",
        unit="seconds",
    )
    poll_seconds: float = setting(
        "WILLOW_POLL_SECONDS",
        SHORT_INTERVAL,
        "0.5",
        "How often a node polls the database for messages, in case a wake-up was lost.",
        unit="seconds",
    )
    transactional_post_seconds: float = setting(
        "WILLOW_TRANSACTIONAL_POST_SECONDS",
        SHORT_INTERVAL,
        "0.05",
        "How often a node looks for posts that applications have committed with `willow_post`; while they come, "
        "it looks four times as often.",
        unit="seconds",
    )
    reaper_seconds: float = setting(
        "WILLOW_REAPER_SECONDS",
        SHORT_INTERVAL,
        "0.5",
        "How often the reaper checks for work.",
        unit="seconds",
    )
    ping_seconds: float = setting(
        "WILLOW_PING_SECONDS",
        kinds.number(1, 3600),
        "20",
        "How long a connection may be idle before it is pinged.",
        unit="seconds",
    )
    ping_timeout: float = setting(
        "WILLOW_PING_TIMEOUT",
        kinds.number(1, 3600),
        "30",
        "How long to wait for the answer to a ping before the connection is closed.",
        unit="seconds",
    )
    drain_seconds: float = setting(
        "WILLOW_DRAIN_SECONDS",
        kinds.number(0, 3600),
        "10",
        "How long a stopping node waits for commands in progress and claims.",
        unit="seconds",
    )
