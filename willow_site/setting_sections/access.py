"""Who may connect."""

from dataclasses import dataclass

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting
from willow_site.setting_kinds import Network

QUOTA = kinds.whole_number(0, 2**50)  # of a key; 0: no limit


@dataclass(frozen=True, kw_only=True)
class Access:
    anonymous: str = setting(
        "WILLOW_ANONYMOUS",
        kinds.choice("loopback", "all", "none"),
        "loopback",
        "Who may connect without a key: callers on this machine, everyone, or nobody.",
    )
    anonymous_quotas: tuple[str, ...] = setting(
        "WILLOW_ANONYMOUS_QUOTAS",
        kinds.quotas(
            "queues",
            "clients",
            "connections",
            "waiting_messages",
            "waiting_bytes",
            "posts_per_second",
            "bytes_per_second",
            "readings",
        ),
        "queues=50000,clients=20000,readings=200000",
        "The quotas of all callers without a key together; what is not named has no limit.",
    )
    trusted_proxies: tuple[Network, ...] = setting(
        "WILLOW_TRUSTED_PROXIES",
        kinds.networks(),
        "",
        "The proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted.",
    )
