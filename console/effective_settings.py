"""The settings of a queue, and where each comes from."""

from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings

from queues.definitions import SETTING_NAMES, default_settings
from queues.models import Kind, Queue
from queues.setting_rules import NOT_ON_STREAMS

ONLY_STREAMS = frozenset({"retention_seconds", "retention_count", "retention_acked"})
ONLY_WORK = frozenset(
    {"retry_limit", "heartbeat_timeout", "retry_delay", "retry_backoff", "retry_delay_max", *NOT_ON_STREAMS}
)
UNBOUNDED = {"retry_limit": "never gives up", "burst": "1, or the rate if that is more", "keep_replies": "not kept"}
SECONDS = frozenset({"heartbeat_timeout", "retry_delay", "retry_delay_max", "retention_seconds", "keep_replies"})


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    name: str
    value: str
    source: str
    note: str  # what sets the default
    help_text: str


def effective_settings(queue: Queue) -> list[EffectiveSetting]:
    """The settings that apply to its kind."""
    idle = ONLY_WORK if queue.kind == Kind.STREAM else ONLY_STREAMS
    usual = default_settings(queue.name)
    return [
        _setting(queue, name, getattr(usual, name)) for name in SETTING_NAMES if name not in idle and name != "kind"
    ]


def _setting(queue: Queue, name: str, usual: Any) -> EffectiveSetting:
    value = getattr(queue, name)
    help_text = str(Queue._meta.get_field(name).help_text)  # type: ignore[union-attr]
    variable, is_chosen = _environment(name)
    if value != usual:
        return EffectiveSetting(
            name, _written(name, value), "set on the queue", f"usual: {_written(name, usual)}", help_text
        )
    if is_chosen:
        return EffectiveSetting(name, _written(name, value), "environment", variable, help_text)
    return EffectiveSetting(name, _written(name, value), "default", variable, help_text)


def _environment(name: str) -> tuple[str, bool]:
    """The variable with the default for this setting, if there is one, and whether it was changed."""
    for field in fields(settings.WILLOW):
        if field.name == name:
            declared = field.metadata["setting"]
            return declared.variable, getattr(settings.WILLOW, name) != declared.read(declared.default)
    return "", False


def _written(name: str, value: Any) -> str:
    if value is None:
        return UNBOUNDED.get(name, "no bound")
    if isinstance(value, bool):
        return "on" if value else "off"
    if name in SECONDS:
        return f"{value:g} s"
    return f"{value:g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
