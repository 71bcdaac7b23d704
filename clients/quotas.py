"""How much a key may use. Each key has a value of its own or the default of the settings; 0 means no limit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

NO_LIMIT = 0
MOST = 2**62
EXAMPLE = "connections=10"


@dataclass(frozen=True, slots=True)
class Quotas:
    """The field `queues` has its default in WILLOW_KEY_QUEUES, and so on."""

    queues: int = NO_LIMIT  # that its owner has defined
    clients: int = NO_LIMIT  # names that its owner has registered
    connections: int = NO_LIMIT  # over all nodes
    waiting_messages: int = NO_LIMIT  # that it posted and that have not ended
    waiting_bytes: int = NO_LIMIT  # of their bodies
    posts_per_second: int = NO_LIMIT  # over all nodes
    bytes_per_second: int = NO_LIMIT
    readings: int = NO_LIMIT  # subscriptions, and reads of several queues, times the queues of each, on one node


UNLIMITED = Quotas()
QUOTA_NAMES = tuple(field.name for field in fields(Quotas))


def effective_quotas(own: Mapping[str, int]) -> Quotas:
    """A key's own values, and the defaults for the rest."""
    return Quotas(**{name: own.get(name, default_quota(name)) for name in QUOTA_NAMES})


def default_quota(name: str) -> int:
    value: int = getattr(settings.WILLOW, f"key_{name}")
    return value


def read_quotas(texts: Iterable[str]) -> dict[str, int]:
    """Texts such as `connections=10`."""
    quotas: dict[str, int] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value.isascii() or not value.isdigit():
            raise ValidationError(f"A quota must be written as NAME=NUMBER such as {EXAMPLE}, not {text!r}.")
        quotas[name] = int(value)
    check_quotas(quotas)
    return quotas


def written_quotas(quotas: Mapping[str, int]) -> list[str]:
    return [f"{name}={quotas[name]}" for name in QUOTA_NAMES if name in quotas]


def check_quotas(quotas: Mapping[str, Any]) -> None:
    for name, value in quotas.items():
        if name not in QUOTA_NAMES:
            raise ValidationError(f"{name!r} is not a quota; the quotas are {', '.join(QUOTA_NAMES)}.")
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
            raise ValidationError(
                f"The quota {name} must be a whole number from 0 (no limit) to {MOST}, not {value!r}."
            )
