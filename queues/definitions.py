"""What a queue is made of, and the one statement that defines it: for clients, for operators and for first use."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from queues.models import Kind, Overflow
from queues.statements import Statements

statement = Statements(Path(__file__).parent / "sql")

NAME_LENGTH = 200  # characters at most
NAME_RULE = f"1 to {NAME_LENGTH} printable ASCII characters"
DEAD_SUFFIX = ".dead"
SERVICE_PREFIX = "service:"  # of the queues that hold requests to services
MOST_TAGS = 64
TAG_LENGTH = 200  # characters at most


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    kind: str
    retry_limit: int | None
    heartbeat_timeout: float
    retry_delay: float
    retry_backoff: float
    retry_delay_max: float
    max_length: int | None = None
    overflow: str = Overflow.REJECT.value
    updatable: bool = False
    keep_bodies: bool = False
    retention_seconds: float | None = None
    retention_count: int | None = None
    retention_acked: bool = False
    group_in_flight: int | None = None
    max_in_flight: int | None = None
    rate: float | None = None  # messages a second
    burst: float | None = None  # None: 1, or the rate if that is more
    keep_replies: float | None = None  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRecord:
    """A queue as the broker keeps it in memory. `id` is what the protocol calls the shard."""

    id: int
    name: str
    tags: tuple[str, ...]
    settings: QueueSettings
    paused: bool
    defined_at: datetime
    changed_at: datetime

    @property
    def is_stream(self) -> bool:
        return self.settings.kind == Kind.STREAM

    @property
    def limits_claims(self) -> bool:
        """Whether it is claimed from by what its limits allow."""
        return self.settings.max_in_flight is not None or self.settings.rate is not None

    @property
    def limits_pops(self) -> bool:
        """What is popped ends at once: it takes up no place, and waits for nobody of its group."""
        return self.settings.rate is not None or self.settings.group_in_flight is not None

    @property
    def is_plain(self) -> bool:
        """Whether posting to it needs no look at what the queue holds already."""
        return self.settings.max_length is None and not self.settings.updatable


SETTING_NAMES = tuple(field.name for field in fields(QueueSettings))
# A queue is made as work or stream, and its messages with it.
CHANGEABLE_SETTINGS = tuple(name for name in SETTING_NAMES if name != "kind")


def is_name(text: str) -> bool:
    """Whether it can name a queue or a client: NAME_RULE."""
    return 0 < len(text) <= NAME_LENGTH and text.isascii() and text.isprintable()


def dead_letter_name(name: str) -> str:
    """The dead letter queue's name; a name too long for the suffix loses its end."""
    return name[: NAME_LENGTH - len(DEAD_SUFFIX)] + DEAD_SUFFIX


def is_dead_letter_name(name: str) -> bool:
    return name.endswith(DEAD_SUFFIX)


def tag_set(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags as a queue keeps them: sorted, each once."""
    return tuple(sorted(set(tags)))


def default_settings(name: str) -> QueueSettings:
    """A dead letter queue never gives up on a message: what it holds has nowhere else to go."""
    willow = settings.WILLOW
    return QueueSettings(
        kind=Kind.WORK.value,
        retry_limit=None if is_dead_letter_name(name) else willow.retry_limit,
        heartbeat_timeout=willow.heartbeat_timeout,
        retry_delay=willow.retry_delay,
        retry_backoff=willow.retry_backoff,
        retry_delay_max=willow.retry_delay_max,
    )


def settings_with(name: str, chosen: Mapping[str, Any]) -> QueueSettings:
    """The defaults, with what somebody chose (None: not chosen) in their place."""
    given = {key: value for key, value in chosen.items() if value is not None}
    if is_dead_letter_name(name):
        given.pop("retry_limit", None)
    return replace(default_settings(name), **given)


@dataclass(frozen=True, slots=True)
class Definer:
    """On whose account a queue is defined: the owner of a key, who may define so many (0: any number).

    `source`: through which session, if through one.
    """

    client_id: int | None = None
    most: int = 0
    source: int | None = None


NOBODY = Definer()


def definition_parameters(
    name: str, tags: Iterable[str], chosen: QueueSettings, by: Definer = NOBODY
) -> dict[str, Any]:
    values = {field: getattr(chosen, field) for field in SETTING_NAMES}
    return values | {
        "name": name,
        "tags": list(tag_set(tags)),
        "most_queues": settings.WILLOW.max_queue_count,
        "has_room": None,
        "definer": by.client_id,
    }


def record_of(row: Mapping[str, Any]) -> QueueRecord:
    return QueueRecord(
        id=row["id"],
        name=row["name"],
        tags=tuple(row["tags"]),
        settings=QueueSettings(**{field: row[field] for field in SETTING_NAMES}),
        paused=row["paused"],
        defined_at=row["defined_at"],
        changed_at=row["changed_at"],
    )
