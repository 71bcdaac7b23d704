"""Which queues match a reader's name, tags and match mode, and why the others do not."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.core.exceptions import ValidationError

from delivery.engine.matching import default_match, matches
from delivery.protocol.fields import Match
from queues.definitions import tag_set
from queues.models import Queue

MATCHES: tuple[Match, ...] = ("all", "exact", "strict", "combined", "any")
MOST_QUEUES = 500  # of one name that are explained


@dataclass(frozen=True, slots=True)
class Explanation:
    queue: Queue
    matches: bool
    reason: str  # one sentence


def explain_tags(*, name: str, tags: Iterable[str] = (), match: Match | None = None) -> list[Explanation]:
    """Every queue of the name, those that match first."""
    wanted = frozenset(tags)
    chosen = match or default_match(wanted)
    if chosen not in MATCHES:
        raise ValidationError({"match": f"A match is one of {', '.join(MATCHES)}, not {chosen!r}."})
    queues = Queue.objects.filter(name=name).order_by("id")[:MOST_QUEUES]
    explained = [explain_queue(queue, wanted, chosen) for queue in queues]
    return sorted(explained, key=lambda one: not one.matches)


def explain_queue(queue: Queue, tags: Iterable[str], match: Match) -> Explanation:
    """Whether one queue is chosen, and why."""
    wanted = frozenset(tags)
    does = matches(queue.tags, wanted, match)
    reason = _why(frozenset(queue.tags), wanted, match) if does else _why_not(frozenset(queue.tags), wanted, match)
    return Explanation(queue, does, reason)


def _why(tags: frozenset[str], wanted: frozenset[str], match: Match) -> str:
    if match == "all":
        return "`all` reads every queue of the name, whatever its tags."
    if match == "exact":
        return f"Its tags are exactly {_listed(wanted)}."
    if match == "strict":
        return f"It has all of {_listed(wanted)}." if wanted else "`strict` without tags asks for none."
    return f"It has {_listed(tags & wanted)}."


def _why_not(tags: frozenset[str], wanted: frozenset[str], match: Match) -> str:
    if match in ("combined", "any"):
        return f"It has none of {_listed(wanted)}." if wanted else f"`{match}` without tags matches no queue."
    parts = []
    if lacking := wanted - tags:
        parts.append(f"lacks {_listed(lacking)}")
    if match == "exact" and (surplus := tags - wanted):
        parts.append(f"also has {_listed(surplus)}")
    return f"It {' and '.join(parts)}."


def _listed(tags: Iterable[str]) -> str:
    return ", ".join(tag_set(tags)) or "no tags"
