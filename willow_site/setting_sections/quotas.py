"""Quotas of keys."""

from dataclasses import dataclass

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting
from willow_site.setting_sections.common_kinds import MEBIBYTE

QUOTA = kinds.whole_number(0, 2**50)  # of a key; 0: no limit


@dataclass(frozen=True, kw_only=True)
class Quotas:
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
        "How many queues the subscriptions of a key, and its fetches and pops of several queues, may read on one node; "
        "if two read it, it counts twice.",
        unit="queues",
    )
