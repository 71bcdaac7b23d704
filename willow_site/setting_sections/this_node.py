"""This node."""

from dataclasses import dataclass
from pathlib import Path

from willow_site import setting_kinds as kinds
from willow_site.project_folder import PROJECT_FOLDER
from willow_site.setting_declaration import setting
from willow_site.setting_sections.common_kinds import NAME, has_host


@dataclass(frozen=True, kw_only=True)
class ThisNode:
    bind: str = setting("WILLOW_BIND", kinds.ip_address(), "127.0.0.1", "The address the broker listens on.")
    port: int = setting("WILLOW_PORT", kinds.whole_number(1, 65535), "8080", "The TCP port the broker listens on.")
    processes: int = setting(
        "WILLOW_PROCESSES",
        kinds.whole_number(1, 64),
        "1",
        "How many broker processes share the port; more than one needs Redis.",
    )
    process_number: int = setting(
        "WILLOW_PROCESS_NUMBER",
        kinds.whole_number(0, 63),
        "0",
        "The number of this process among those on the port; `./willow up` sets it.",
    )
    home: Path = setting(  # noqa: RUF009 (a declaration, as dataclasses.field is)
        "WILLOW_HOME",
        kinds.folder(relative_to=PROJECT_FOLDER),
        ".willow",
        "The folder for generated secrets, static files and the data of embedded servers.",
    )
    node_name: str = setting(
        "WILLOW_NODE_NAME",
        NAME,
        None,
        "The name of this node in the cluster; each process after the first appends its number.",
        default_about="`<host name>-<port>-<process number>`",
    )
    advertised_url: str = setting(
        "WILLOW_ADVERTISED_URL",
        kinds.url("ws", "wss", example="wss://broker.example.org/connect/", check=has_host),
        None,
        "The URL at which other machines can reach this node.",
        default_about="`ws://<bind>:<port>/connect/` (or `wss`); the host name in place of a wildcard",
    )
    admin_password: str | None = setting(
        "WILLOW_ADMIN_PASSWORD",
        kinds.text(r".{8,}", "text of at least 8 characters"),
        None,
        "The password for the console's user `admin`, set on the first start.",
        secret=True,
        default_about="one is generated, shown once and kept in `first-password` in `WILLOW_HOME`",
    )
    debug: bool = setting(
        "WILLOW_DEBUG",
        kinds.switch(),
        "off",
        "Shows Django's debug pages; never turn it on for a node that others can reach.",
    )
    log_level: str = setting(
        "WILLOW_LOG_LEVEL",
        kinds.choice("debug", "info", "warning", "error"),
        "info",
        "The lowest level that is logged.",
    )
    log_format: str = setting(
        "WILLOW_LOG_FORMAT",
        kinds.choice("line", "json"),
        "line",
        "The format of log lines: text for people, or one JSON object per line.",
    )

    plain_daphne: bool = setting(
        "WILLOW_PLAIN_DAPHNE",
        kinds.switch(),
        "off",
        "Serves through Daphne, Twisted and Autobahn as they are, without uvloop and what Willow overrides in them.",
    )
    plain_psycopg: bool = setting(
        "WILLOW_PLAIN_PSYCOPG",
        kinds.switch(),
        "off",
        "Runs statements through psycopg as it is, without what Willow overrides in it.",
    )
