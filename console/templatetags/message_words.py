"""How the screens about messages write states, bodies and times to come."""

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.templatetags.console import ago, duration
from delivery.inspection.message import first_line
from delivery.moves.notify import label_from_column
from delivery.moves.states import State
from delivery.storage.vocabulary import STAGES

register = template.Library()


@register.filter
def when(moment: datetime | None) -> SafeString | str:
    """How long ago, or in how long."""
    if moment is None or moment <= timezone.now():
        return ago(moment)
    ahead = duration((moment - timezone.now()).total_seconds())
    return format_html('<time datetime="{0}" title="{0}">in {1}</time>', moment.isoformat(timespec="seconds"), ahead)


@register.filter
def state_badge(state: int) -> SafeString:
    label = State(state).label
    return format_html('<span class="badge dot state-{0}">{0}</span>', label)


@register.filter
def on_one_line(beginning: bytes) -> str:
    return first_line(beginning)


@register.filter
def stages(notify: int) -> str:
    """What the poster asked to be told."""
    return ", ".join(stage for number, stage in enumerate(STAGES) if notify >> number & 1) or "nothing"


@register.filter
def as_label(column: int | None) -> int | None:
    return label_from_column(column)
