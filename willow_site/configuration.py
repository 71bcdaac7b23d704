"""Every setting of Willow: read from the environment once, checked, typed.

`docs/configuration.md` describes the same settings for operators; a test keeps the two in step.
Standard library only: the launcher checks the configuration before it has looked at Django.
"""

import dataclasses
import difflib
import ipaddress
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from willow_site import setting_kinds as kinds
from willow_site.database_url import database_options
from willow_site.setting_declaration import ConfigurationError, Setting, setting
from willow_site.setting_kinds import Network

MEBIBYTE = 1024 * 1024  # bytes
PREFIX = "WILLOW_"
PROJECT_FOLDER = Path(__file__).resolve().parent.parent


def _has_host_and_database(parts: SplitResult) -> bool:
    has_host = bool(parts.hostname) or "host=" in parts.query
    return has_host and len(parts.path) > 1


def _has_host(parts: SplitResult) -> bool:
    return bool(parts.hostname)


SECONDS_PER_YEAR = 31_536_000
SECONDS = kinds.number(0, SECONDS_PER_YEAR)
SHORT_INTERVAL = kinds.number(0.01, 3600)
PLACE = kinds.text(r"[ -~]+", "a folder, or a URL that Spark can write to, such as s3a://bucket/willow")
QUOTA = kinds.whole_number(0, 2**50)  # of a key; 0: no limit
FILE = kinds.file(relative_to=PROJECT_FOLDER)
NAME = kinds.text(r"[!-~]{1,100}", "1 to 100 printable ASCII characters without spaces")


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """All settings, in the order of `docs/configuration.md`.

    A field has the name of its variable, in lower case and without WILLOW_.
    """

    # Services and secrets
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
    redis_url: str | None = setting(
        "REDIS_URL",
        kinds.url(
            "redis",
            "rediss",
            "unix",
            example="redis://:password@host:6379/0",
            check=lambda parts: _has_host(parts) or parts.scheme == "unix",
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

    # This node
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
        kinds.url("ws", "wss", example="wss://broker.example.org/connect/", check=_has_host),
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

    # Who may connect
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
            "connections",
            "waiting_messages",
            "waiting_bytes",
            "posts_per_second",
            "bytes_per_second",
            "readings",
        ),
        "queues=50000,readings=200000",
        "The quotas of all callers without a key together; what is not named has no limit.",
    )
    trusted_proxies: tuple[Network, ...] = setting(
        "WILLOW_TRUSTED_PROXIES",
        kinds.networks(),
        "",
        "The proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted.",
    )

    # Encryption
    tls_certificate: Path | None = setting(  # noqa: RUF009
        "WILLOW_TLS_CERTIFICATE",
        FILE,
        None,
        "The certificate of this node, with those of its issuers, as PEM; read again on SIGHUP.",
        default_about="no TLS: the broker speaks plain HTTP and WebSockets",
    )
    tls_key: Path | None = setting(  # noqa: RUF009
        "WILLOW_TLS_KEY",
        FILE,
        None,
        "The private key of the certificate, as PEM without a passphrase.",
        default_about="in the file of the certificate",
    )
    tls_clients: str = setting(
        "WILLOW_TLS_CLIENTS",
        kinds.choice("off", "optional", "required"),
        "off",
        "Whether callers show a certificate of their own, which must be issued by `WILLOW_TLS_CLIENT_CA`.",
    )
    tls_client_ca: Path | None = setting(  # noqa: RUF009
        "WILLOW_TLS_CLIENT_CA",
        FILE,
        None,
        "The certificates of those who issue certificates for callers, as PEM.",
        default_about="none; needed if `WILLOW_TLS_CLIENTS` is not off",
    )
    https: bool = setting(
        "WILLOW_HTTPS",
        kinds.switch(),
        None,
        "Whether browsers reach the console over HTTPS only: then its cookies are Secure, and HSTS is sent.",
        default_about="on with a certificate, or if `WILLOW_ADVERTISED_URL` begins with wss",
    )

    # People who log in
    lockout_failures: int = setting(
        "WILLOW_LOCKOUT_FAILURES",
        kinds.whole_number(1, 1000),
        "10",
        "How many wrong passwords or codes from one address lock an account for that address.",
        unit="failures",
    )
    lockout_minutes: float = setting(
        "WILLOW_LOCKOUT_MINUTES", kinds.number(0.01, 10_080), "15", "How long an account stays locked.", unit="minutes"
    )
    second_factor: str = setting(
        "WILLOW_SECOND_FACTOR",
        kinds.choice("optional", "required"),
        "optional",
        "Whether staff who log in with a password need a code from an app as well; whoever has set one up always does.",
    )
    oidc_issuer: str | None = setting(
        "WILLOW_OIDC_ISSUER",
        kinds.url("https", "http", example="https://login.example.org/realms/main", check=_has_host),
        None,
        "The OpenID Connect provider at which staff can log in; it must offer `/.well-known/openid-configuration`.",
        default_about="staff log in with passwords only",
    )
    oidc_client_id: str | None = setting(
        "WILLOW_OIDC_CLIENT_ID", NAME, None, "Willow's name at the provider.", default_about="none"
    )
    oidc_client_secret: str | None = setting(
        "WILLOW_OIDC_CLIENT_SECRET",
        kinds.text(r"[!-~]+", "printable ASCII characters without spaces"),
        None,
        "Willow's secret at the provider.",
        secret=True,
        default_about="none",
    )
    oidc_username_claim: str = setting(
        "WILLOW_OIDC_USERNAME_CLAIM",
        NAME,
        "preferred_username",
        "The provider's claim that holds the name of a person's account.",
    )
    oidc_create: bool = setting(
        "WILLOW_OIDC_CREATE",
        kinds.switch(),
        "off",
        "Whether somebody whom Willow does not know gets an account: staff, without permissions.",
    )

    # Metrics
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

    # Queues and messages
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

    # How long things are kept
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

    # Quotas of keys
    key_queues: int = setting(
        "WILLOW_KEY_QUEUES", QUOTA, "10000", "How many queues the owner of a key may define.", unit="queues"
    )
    key_clients: int = setting(
        "WILLOW_KEY_CLIENTS", QUOTA, "1000", "How many names the owner of a key may register.", unit="clients"
    )
    key_connections: int = setting(
        "WILLOW_KEY_CONNECTIONS",
        QUOTA,
        "1000",
        "How many connections a key has at once, over all nodes.",
        unit="connections",
    )
    key_waiting_messages: int = setting(
        "WILLOW_KEY_WAITING_MESSAGES",
        QUOTA,
        "10000000",
        "How many messages that a key posted may wait or be held, over all queues.",
        unit="messages",
    )
    key_waiting_bytes: int = setting(
        "WILLOW_KEY_WAITING_BYTES",
        QUOTA,
        str(10 * 1024 * MEBIBYTE),
        "How many bytes the bodies of those messages may have together.",
        unit="bytes",
    )
    key_posts_per_second: int = setting(
        "WILLOW_KEY_POSTS_PER_SECOND",
        QUOTA,
        "0",
        "How many messages a key may post, over all nodes.",
        unit="messages a second",
    )
    key_bytes_per_second: int = setting(
        "WILLOW_KEY_BYTES_PER_SECOND",
        QUOTA,
        "0",
        "How many bytes of bodies a key may post, over all nodes.",
        unit="bytes a second",
    )
    key_readings: int = setting(
        "WILLOW_KEY_READINGS",
        QUOTA,
        "100000",
        "How many queues the subscriptions of a key may read on one node; if two read it, it counts twice.",
        unit="queues",
    )

    # Limits
    max_body_bytes: int = setting(
        "WILLOW_MAX_BODY_BYTES",
        kinds.whole_number(1, 512 * MEBIBYTE),
        str(16 * MEBIBYTE),
        "The largest message body.",
        unit="bytes",
    )
    max_frame_bytes: int = setting(
        "WILLOW_MAX_FRAME_BYTES",
        kinds.whole_number(1024, 1024 * MEBIBYTE),
        str(32 * MEBIBYTE),
        "The largest WebSocket frame; must be at least as large as the largest body.",
        unit="bytes",
    )
    max_queue_count: int = setting(
        "WILLOW_MAX_QUEUE_COUNT",
        kinds.whole_number(1, 1_000_000_000),
        "100000",
        "How many queues clients may create.",
        unit="queues",
    )
    connection_commands: int = setting(
        "WILLOW_CONNECTION_COMMANDS",
        kinds.whole_number(1, 1_000_000),
        "1024",
        "How many commands of one connection may be in progress.",
        unit="commands",
    )
    address_connections: int = setting(
        "WILLOW_ADDRESS_CONNECTIONS",
        kinds.whole_number(0, 1_000_000),
        "4096",
        "How many connections an address may have to a process, this machine and trusted proxies aside; 0: no limit.",
        unit="connections",
    )
    logins_per_minute: float = setting(
        "WILLOW_LOGINS_PER_MINUTE",
        kinds.number(1, 100_000),
        "30",
        "How many logins with a password a process looks at from one address, and for one account.",
        unit="logins",
    )
    unread_bytes: int = setting(
        "WILLOW_UNREAD_BYTES",
        kinds.whole_number(65_536, 1024 * MEBIBYTE),
        str(8 * MEBIBYTE),
        "How much a connection may leave unread before the broker stops reading its commands and giving it messages.",
        unit="bytes",
    )
    unread_seconds: float = setting(
        "WILLOW_UNREAD_SECONDS",
        kinds.number(0.1, 3600),
        "30",
        "How long a connection that left so much unread may read nothing before it is closed.",
        unit="seconds",
    )
    node_unread_bytes: int = setting(
        "WILLOW_NODE_UNREAD_BYTES",
        kinds.whole_number(65_536, 1024 * 1024 * MEBIBYTE),
        str(128 * MEBIBYTE),
        "How much all connections of a process may leave unread before the one with the most is closed.",
        unit="bytes",
    )
    connection_post_bytes: int = setting(
        "WILLOW_CONNECTION_POST_BYTES",
        kinds.whole_number(1024, 1024 * MEBIBYTE),
        str(16 * MEBIBYTE),
        "How many bytes of posts one connection may have in progress before the broker stops reading from it.",
        unit="bytes",
    )
    connection_readings: int = setting(
        "WILLOW_CONNECTION_READINGS",
        kinds.whole_number(1, 100_000_000),
        "20000",
        "How many queues the subscriptions of one connection may read; if two read it, it counts twice.",
        unit="queues",
    )
    http_waits: int = setting(
        "WILLOW_HTTP_WAITS",
        kinds.whole_number(1, 1_000_000),
        "1000",
        "How many fetches and pops over HTTP may wait for messages in a process.",
        unit="requests",
    )
    http_waits_of_caller: int = setting(
        "WILLOW_HTTP_WAITS_OF_CALLER",
        kinds.whole_number(1, 1_000_000),
        "100",
        "How many of these may belong to one key or, without a key, to one address.",
        unit="requests",
    )
    memory_alarm: float = setting(
        "WILLOW_MEMORY_ALARM",
        kinds.number(0, 1),
        "0.6",
        "The share of this machine's memory above which a process refuses posts, but nothing else; 0: never.",
        unit="share",
    )
    disk_alarm_bytes: int = setting(
        "WILLOW_DISK_ALARM_BYTES",
        kinds.whole_number(0, 2**50),
        str(256 * MEBIBYTE),
        "The free space on the disk of the data, or else of `WILLOW_HOME`, below which posts are refused; 0: never.",
        unit="bytes",
    )
    node_commands: int = setting(
        "WILLOW_NODE_COMMANDS",
        kinds.whole_number(1, 100_000_000),
        "65536",
        "How many commands of all connections of a process may be in progress.",
        unit="commands",
    )
    node_post_bytes: int = setting(
        "WILLOW_NODE_POST_BYTES",
        kinds.whole_number(1024, 1024 * 1024 * MEBIBYTE),
        str(64 * MEBIBYTE),
        "How many bytes of posts a process may have in progress before it refuses connections with much of that.",
        unit="bytes",
    )
    batch_size: int = setting(
        "WILLOW_BATCH_SIZE",
        kinds.whole_number(1, 10_000),
        "512",
        "The most messages in one SQL statement.",
        unit="messages",
    )

    # Intervals
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
        "1",
        "How often a node polls the database for messages, in case a wake-up was lost.",
        unit="seconds",
    )
    transactional_post_seconds: float = setting(
        "WILLOW_TRANSACTIONAL_POST_SECONDS",
        SHORT_INTERVAL,
        "0.05",
        "How often a node looks for posts that applications have committed with `willow_post`.",
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

    # The data pipeline
    pipeline_archive: str | None = setting(
        "WILLOW_PIPELINE_ARCHIVE",
        PLACE,
        None,
        "Where the pipeline keeps the archive of the journal; must be the same everywhere the pipeline runs.",
        default_about="`archive` in `WILLOW_HOME`",
    )
    pipeline_read_url: str | None = setting(
        "WILLOW_PIPELINE_READ_URL",
        kinds.url(
            "postgresql",
            "postgres",
            example="postgresql://willow_analyst:password@host:5432/willow",
            check=_has_host_and_database,
        ),
        None,
        "The database URL that Spark reads from: with the role that `analyst_role` creates, or of a replica.",
        secret=True,
        default_about="same as `DATABASE_URL`",
    )
    pipeline_master: str = setting(
        "WILLOW_PIPELINE_MASTER",
        kinds.text(r"(local|spark|k8s|yarn|mesos)[!-~]*", "a Spark master, such as local[*] or spark://host:7077"),
        "local[*]",
        "The Spark master that the pipeline runs on.",
    )
    pipeline_memory: str = setting(
        "WILLOW_PIPELINE_MEMORY",
        kinds.text(r"[1-9][0-9]*[mg]", "a size such as 512m or 4g"),
        "1g",
        "The memory of the Spark driver; with a local master, of all of Spark.",
    )
    pipeline_driver: str | None = setting(
        "WILLOW_PIPELINE_DRIVER",
        kinds.text(r"[!-~]+", "the path of a jar, or a Maven coordinate such as org.postgresql:postgresql:42.7.4"),
        None,
        "The JDBC driver that Spark uses for PostgreSQL.",
        default_about="the one that `./willow pipeline` installs, or else the system's",
    )
    pipeline_minutes: float = setting(
        "WILLOW_PIPELINE_MINUTES",
        kinds.number(0.1, 10_080),
        "10",
        "How often `pipeline_schedule` runs the pipeline, and `follow` computes hours and days.",
        unit="minutes",
    )
    pipeline_lineage: str | None = setting(
        "WILLOW_PIPELINE_LINEAGE",
        kinds.text(r"(https?://|/)[!-~]+", "a URL such as http://marquez:5000, or the path of a file"),
        None,
        "Where the pipeline sends OpenLineage events: a server, or a file that gets a line for each.",
        default_about="none are sent",
    )
    keep_unarchived: bool = setting(
        "WILLOW_KEEP_UNARCHIVED",
        kinds.switch(),
        "off",
        "Whether days of the journal are kept until the pipeline has archived and verified them.",
    )


def declared_settings() -> dict[str, Setting]:
    """Every setting by the name of its field, in the order of the page."""
    return {item.name: item.metadata["setting"] for item in dataclasses.fields(Configuration)}


def load_configuration(environ: Mapping[str, str], *, supplied_later: Collection[str] = ()) -> Configuration:
    """Read and check all settings; an empty variable counts as unset.

    `supplied_later` names required variables that may be missing now because the caller starts the
    server that provides them; their fields are empty.
    """
    _refuse_unknown(environ)
    values: dict[str, Any] = {}
    for name, declared in declared_settings().items():
        raw = environ.get(declared.variable) or declared.default
        if raw is not None:
            values[name] = declared.read(raw)
        elif declared.required and declared.variable not in supplied_later:
            raise ConfigurationError(
                f"{declared.variable} is not set. Start Willow with ./willow up, test or manage, which set it, "
                f"or set it to {declared.kind.allowed}."
            )
        else:
            values[name] = "" if declared.required else None
    configuration = Configuration(**_with_derived_names(values))
    _check_together(configuration, environ, supplied_later)
    return configuration


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    known = [declared.variable for declared in declared_settings().values()]
    for variable in sorted(environ):
        if variable.startswith(PREFIX) and variable not in known:
            closest = difflib.get_close_matches(variable, known, n=1, cutoff=0)[0]
            raise ConfigurationError(f"{variable} is not a setting of Willow; did you mean {closest}?")


def _with_derived_names(values: dict[str, Any]) -> dict[str, Any]:
    number, port = values["process_number"], values["port"]
    if values["node_name"] is None:
        values["node_name"] = f"{socket.gethostname()}-{port}-{number}"
    elif number > 0:
        values["node_name"] = f"{values['node_name']}-{number}"
    encrypts = values["tls_certificate"] is not None
    if values["advertised_url"] is None:
        scheme = "wss" if encrypts else "ws"
        values["advertised_url"] = f"{scheme}://{_reachable_host(values['bind'])}:{port}/connect/"
    if values["https"] is None:
        values["https"] = encrypts or values["advertised_url"].startswith("wss:")
    return values


def _reachable_host(bind: str) -> str:
    address = ipaddress.ip_address(bind)
    if address.is_unspecified:
        return socket.gethostname()
    return f"[{bind}]" if address.version == 6 else bind


def _check_together(configuration: Configuration, environ: Mapping[str, str], supplied_later: Collection[str]) -> None:
    """Check what no setting can tell by itself, and what needs a sentence of its own."""
    database_options(urlsplit(configuration.database_url))
    rules = (
        (
            configuration.node_lapse > configuration.node_heartbeat,
            "node_lapse",
            "more than WILLOW_NODE_HEARTBEAT",
        ),
        (
            configuration.max_frame_bytes >= configuration.max_body_bytes,
            "max_frame_bytes",
            "at least WILLOW_MAX_BODY_BYTES",
        ),
        (
            configuration.retry_delay_max >= configuration.retry_delay,
            "retry_delay_max",
            "at least WILLOW_RETRY_DELAY",
        ),
        (
            configuration.tls_clients == "off" or configuration.tls_client_ca is not None,
            "tls_clients",
            "off without WILLOW_TLS_CLIENT_CA",
        ),
        (
            configuration.tls_clients == "off" or configuration.tls_certificate is not None,
            "tls_clients",
            "off without WILLOW_TLS_CERTIFICATE",
        ),
        (
            configuration.process_number < configuration.processes,
            "process_number",
            "less than WILLOW_PROCESSES",
        ),
    )
    settings = declared_settings()
    for kept, name, allowed in rules:
        if not kept:
            variable, default = settings[name].variable, settings[name].default
            raise ConfigurationError(f'{variable} is "{environ.get(variable) or default}", but it must be {allowed}.')
    if configuration.oidc_issuer and not (configuration.oidc_client_id and configuration.oidc_client_secret):
        raise ConfigurationError(
            "WILLOW_OIDC_ISSUER is set, but it also needs WILLOW_OIDC_CLIENT_ID and WILLOW_OIDC_CLIENT_SECRET."
        )
    if configuration.processes > 1 and configuration.redis_url is None and "REDIS_URL" not in supplied_later:
        raise ConfigurationError(
            f'WILLOW_PROCESSES is "{configuration.processes}", but more than one process needs REDIS_URL.'
        )
