"""The setting `WILLOW`, read when it is needed, so that tests may override it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

Outbox = Literal["own", "shared"]
KNOWN = ("URL", "TOKEN", "OUTBOX", "DATABASE", "SCHEMA", "TIMEOUT")


@dataclass(frozen=True)
class WillowSettings:
    url: str | tuple[str, ...]
    token: str | None = None
    outbox: Outbox = "own"  # a table of the project's, or with `shared` the one of Willow in the same database
    database: str = "default"  # whose transactions count
    schema: str | None = None  # where Willow's function is; None: on the search path
    timeout: float = 30.0  # seconds that a post may take


def willow_settings() -> WillowSettings:
    """Raises ImproperlyConfigured with a sentence that says what is wrong."""
    given = getattr(settings, "WILLOW", None)
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured('Set WILLOW = {"URL": "ws://127.0.0.1:8080/connect/"} in your settings.')
    unknown = sorted(set(given) - set(KNOWN), key=str)
    if unknown:
        raise ImproperlyConfigured(f"WILLOW[{unknown[0]!r}] is no setting. There are: {', '.join(KNOWN)}.")
    return WillowSettings(
        url=_url(given.get("URL")),
        token=_text_or_none("TOKEN", given.get("TOKEN")),
        outbox=_outbox(given.get("OUTBOX", "own")),
        database=_database(given.get("DATABASE", "default")),
        schema=_text_or_none("SCHEMA", given.get("SCHEMA")),
        timeout=_seconds("TIMEOUT", given.get("TIMEOUT", 30)),
    )


def _url(value: Any) -> str | tuple[str, ...]:
    urls = (value,) if isinstance(value, str) else value
    good = isinstance(urls, tuple | list) and urls and all(isinstance(url, str) and url for url in urls)
    if not good:
        raise ImproperlyConfigured(f'WILLOW["URL"] must be a URL such as ws://127.0.0.1:8080/connect/, not {value!r}.')
    return value if isinstance(value, str) else tuple(urls)


def _text_or_none(name: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ImproperlyConfigured(f"WILLOW[{name!r}] must be a text, not {type(value).__name__}.")
    return value


def _outbox(value: Any) -> Outbox:
    if value not in get_args(Outbox):
        raise ImproperlyConfigured(f'WILLOW["OUTBOX"] must be "own" or "shared", not {value!r}.')
    chosen: Outbox = value
    return chosen


def _database(value: Any) -> str:
    if not isinstance(value, str) or value not in settings.DATABASES:
        raise ImproperlyConfigured(f'WILLOW["DATABASE"] must be one of {sorted(settings.DATABASES)}, not {value!r}.')
    return value


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ImproperlyConfigured(f"WILLOW[{name!r}] must be seconds above 0, not {value!r}.")
    return float(value)
