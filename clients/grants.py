"""Grants as people write them, `orders*:post,fetch`, and what makes one good."""

from collections.abc import Iterable, Mapping

from django.core.exceptions import ValidationError

from clients.models import Permission
from queues.definitions import NAME_RULE, is_name

Grants = Mapping[str, frozenset[str]]  # by pattern of queue names: what is permitted there

EXAMPLE = "orders*:post,fetch"


def read_grants(texts: Iterable[str]) -> Grants:
    """The grants in some texts; what two of them say about one pattern is added up."""
    grants: dict[str, frozenset[str]] = {}
    for text in texts:
        # A queue's name may hold a colon, a permission never does.
        pattern, colon, listed = text.rpartition(":")
        if not colon:
            raise ValidationError(f"A grant must be written as PATTERN:PERMISSION,… such as {EXAMPLE}, not {text!r}.")
        permissions = frozenset(name.strip() for name in listed.split(",") if name.strip())
        pattern = pattern.strip()
        grants[pattern] = grants.get(pattern, frozenset()) | permissions
    return grants


def written_grants(grants: Grants) -> list[str]:
    """As `read_grants` reads them."""
    return [f"{pattern}:{','.join(in_usual_order(permissions))}" for pattern, permissions in sorted(grants.items())]


def in_usual_order(permissions: Iterable[str]) -> list[str]:
    return sorted(permissions, key=Permission.values.index)


def check_grants(grants: Grants) -> None:
    """Refuse what no queue could match and what nobody can be permitted."""
    for pattern, permissions in grants.items():
        if not is_name(pattern):
            raise ValidationError(
                f"The pattern of a grant must be {NAME_RULE}, with `*` for any characters, not {pattern!r}."
            )
        known = ", ".join(Permission.values)
        if not permissions:
            raise ValidationError(f"The grant on {pattern} has no permissions; it must name at least one of {known}.")
        for unknown in sorted(permissions - set(Permission.values)):
            raise ValidationError(f"{unknown!r} is not a permission; the permissions are {known}.")
