"""How the screens write figures, times and tags."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console.charts import figure, spark

register = template.Library()

NOTHING = "\N{EN DASH}"
UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))


@register.filter
def duration(seconds: float | None) -> str:
    """3 ms, 4.2 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    if seconds is None:
        return NOTHING
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    for size, unit, smaller, smaller_unit in UNITS:
        if seconds >= size:
            whole, rest = divmod(int(seconds), size)
            small = rest // smaller
            return f"{whole} {unit} {small} {smaller_unit}" if small else f"{whole} {unit}"
    raise AssertionError("every duration from a minute on has a unit")


@register.filter
def ago(moment: datetime | None) -> SafeString | str:
    """How long ago, with the exact time as a tooltip."""
    if moment is None:
        return "never"
    passed = max((timezone.now() - moment).total_seconds(), 0)
    text = "just now" if passed < 1 else f"{duration(passed)} ago"
    return format_html('<time datetime="{0}" title="{0}">{1}</time>', moment.isoformat(timespec="seconds"), text)


@register.filter
def moment(at: datetime | None) -> SafeString | str:
    """Date and time, UTC."""
    if at is None:
        return NOTHING
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S} UTC")


@register.filter
def zoned(at: datetime | None) -> SafeString | str:
    """Date and time in the zone that it has."""
    if at is None:
        return NOTHING
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S} {at.tzname()}")


@register.filter
def count(value: float | None) -> str:
    return NOTHING if value is None else figure(value)


@register.filter
def size(value: int | None) -> str:
    """Bytes, as people say them."""
    if value is None:
        return NOTHING
    amount = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(amount) < 1000:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"


@register.filter
def percent(share: float | None) -> str:
    return NOTHING if share is None else f"{share * 100:.3g} %"


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@register.filter
def chips(tags: Iterable[str]) -> SafeString:
    each = format_html_join("", '<span class="chip" title="{0}">{0}</span>', ((tag,) for tag in tags))
    return format_html('<span class="chips">{}</span>', each) if each else each


@register.simple_tag
def sparkline(values: Sequence[float | None], about: str) -> SafeString:
    return spark(values, about)


@register.inclusion_tag("console/depth.html")
def depth(queue: Any) -> dict[str, Any]:
    """What a queue holds, as a bar of its states."""
    states = [(name, getattr(queue, name)) for name in ("ready", "delayed", "claimed", "retained")]
    return {"states": [(name, number) for name, number in states if number], "live": queue.live}


@register.simple_tag
def provider_login() -> str | None:
    """Where a login at the provider begins, if there is one."""
    return reverse("oidc_authentication_init") if settings.WILLOW.oidc_issuer else None
