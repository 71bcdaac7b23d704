"""Limits."""

from dataclasses import dataclass

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting
from willow_site.setting_sections.common_kinds import MEBIBYTE


@dataclass(frozen=True, kw_only=True)
class Limits:
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
        "How much all connections of a process may leave unread before those with the most are closed.",
        unit="bytes",
    )
    connection_post_bytes: int = setting(
        "WILLOW_CONNECTION_POST_BYTES",
        kinds.whole_number(1024, 1024 * MEBIBYTE),
        str(16 * MEBIBYTE),
        "How many bytes of posts and replies a connection may have in progress before the broker stops reading it.",
        unit="bytes",
    )
    connection_readings: int = setting(
        "WILLOW_CONNECTION_READINGS",
        kinds.whole_number(1, 100_000_000),
        "20000",
        "How many queues the subscriptions of one connection, and its fetches and pops of several queues, may read; "
        "if two read it, it counts twice.",
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
        "How many messages of posts may be in progress in a process, and how many fetches and pops.",
        unit="commands",
    )
    node_post_bytes: int = setting(
        "WILLOW_NODE_POST_BYTES",
        kinds.whole_number(1024, 1024 * 1024 * MEBIBYTE),
        str(64 * MEBIBYTE),
        "How many bytes of posts and replies a process may have in progress before it refuses whoever has much of it.",
        unit="bytes",
    )
    batch_size: int = setting(
        "WILLOW_BATCH_SIZE",
        kinds.whole_number(1, 10_000),
        "512",
        "The most messages in one SQL statement.",
        unit="messages",
    )
