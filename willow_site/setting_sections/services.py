"""Services and secrets."""

from dataclasses import dataclass
from urllib.parse import SplitResult

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting
from willow_site.setting_sections.common_kinds import has_host


def _has_host_and_database(parts: SplitResult) -> bool:
    has_host = bool(parts.hostname) or "host=" in parts.query
    return has_host and len(parts.path) > 1


@dataclass(frozen=True, kw_only=True)
class Services:
    database_url: str = setting(
        "DATABASE_URL",
        kinds.url(
            "postgresql",
            "postgres",
            example="postgresql://user:password@host:5432/willow",
            check=_has_host_and_database,
        ),
        None,
        "The PostgreSQL database that holds everything.",
        required=True,
        secret=True,
        default_about="`./willow` runs its own PostgreSQL",
    )
    database_socket: str | None = setting(
        "WILLOW_DATABASE_SOCKET",
        kinds.text(r"/.{0,100}", "an absolute path of at most 101 characters"),
        None,
        "The folder of a Unix socket of the server in `DATABASE_URL`, if it runs on this machine: messages go that "
        "way, which costs less than TCP.",
        default_about="the one of the PostgreSQL that `./willow` runs",
    )
    redis_url: str | None = setting(
        "REDIS_URL",
        kinds.url(
            "redis",
            "rediss",
            "unix",
            example="redis://:password@host:6379/0",
            check=lambda parts: has_host(parts) or parts.scheme == "unix",
        ),
        None,
        "The Redis or Valkey that broker processes use to wake each other.",
        secret=True,
        default_about="not needed for one process; for several, `./willow` runs its own Valkey",
    )
    secret_key: str = setting(
        "SECRET_KEY",
        kinds.text(r".{32,}", "text of at least 32 characters"),
        None,
        "Signs logins to the console; must be the same on all nodes.",
        required=True,
        secret=True,
        default_about="`./willow` generates one and keeps it in its home",
    )
    allowed_hosts: tuple[str, ...] = setting(
        "ALLOWED_HOSTS",
        kinds.host_names(),
        "localhost,127.0.0.1,[::1]",
        "Host names for which HTTP requests and WebSockets from browsers are accepted.",
    )
    browser_origins: tuple[str, ...] = setting(
        "WILLOW_BROWSER_ORIGINS",
        kinds.origins(),
        "",
        "Other sites whose pages may be clients: over WebSockets at `/connect/` and over REST (CORS), with a key.",
    )
