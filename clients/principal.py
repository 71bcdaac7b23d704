"""Who is asking, and what they may do."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from clients.models import Permission

OPERATORS_ONLY = frozenset({Permission.ADMIN.value})
EVERYTHING_A_CLIENT_DOES = frozenset(Permission.values) - OPERATORS_ONLY


@dataclass(frozen=True, slots=True)
class Principal:
    """A key's owner, or somebody anonymous who may do all that clients do."""

    client_id: int | None = None
    client_name: str | None = None
    key_id: int | None = None
    grants: tuple[tuple[str, frozenset[str]], ...] = field(default=(("*", EVERYTHING_A_CLIENT_DOES),))

    def may(self, permission: str, queue_name: str) -> bool:
        return _granted(self.grants, permission, queue_name)

    @property
    def is_operator(self) -> bool:
        """Whether it may do what operators do where no single queue is concerned: `admin` on all of them."""
        return any(pattern == "*" and Permission.ADMIN.value in permissions for pattern, permissions in self.grants)


@lru_cache(maxsize=4096)
def _granted(grants: tuple[tuple[str, frozenset[str]], ...], permission: str, queue_name: str) -> bool:
    return any(permission in permissions and _matches(pattern, queue_name) for pattern, permissions in grants)


def _matches(pattern: str, name: str) -> bool:
    """`*` stands for any characters; nothing else is special."""
    literal = pattern.replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(name, literal)


ANONYMOUS = Principal()
OPERATOR = Principal(grants=(("*", frozenset(Permission.values)),))
