"""Metrics."""

from dataclasses import dataclass

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting


@dataclass(frozen=True, kw_only=True)
class Metrics:
    metrics: str = setting(
        "WILLOW_METRICS",
        kinds.choice("loopback", "all", "none"),
        "loopback",
        "Who may read `/metrics` without the token: callers on this machine, everyone, or nobody.",
    )
    metrics_token: str | None = setting(
        "WILLOW_METRICS_TOKEN",
        kinds.text(r"[!-~]{16,}", "at least 16 printable ASCII characters without spaces"),
        None,
        "Anyone who sends it as `Authorization: Bearer <token>` may read `/metrics`, from anywhere.",
        secret=True,
        default_about="no token is accepted",
    )
    metrics_queues: int = setting(
        "WILLOW_METRICS_QUEUES",
        kinds.whole_number(0, 100_000),
        "100",
        "How many queues have their own metrics, those with the most messages first; all others are combined.",
        unit="queues",
    )
    metrics_seconds: float = setting(
        "WILLOW_METRICS_SECONDS",
        kinds.number(0.1, 3600),
        "5",
        "How old metrics from the database, and of other processes on the port, may be.",
        unit="seconds",
    )
