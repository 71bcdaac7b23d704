"""How long things are kept."""

from dataclasses import dataclass

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting
from willow_site.setting_sections.common_kinds import SECONDS


@dataclass(frozen=True, kw_only=True)
class Retention:
    session_retention: float = setting(
        "WILLOW_SESSION_RETENTION",
        SECONDS,
        "86400",
        "How long a session can be resumed by its id after it has ended.",
        unit="seconds",
    )
    transient_retention: float = setting(
        "WILLOW_TRANSIENT_RETENTION",
        SECONDS,
        "604800",
        "How long a client that is not persistent is kept after it has left.",
        unit="seconds",
    )
    journal_retention_days: int = setting(
        "WILLOW_JOURNAL_RETENTION_DAYS",
        kinds.whole_number(1, 36500),
        "30",
        "How long the journal keeps messages that have ended.",
        unit="days",
    )
