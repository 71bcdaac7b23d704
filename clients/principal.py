"""Who is asking, and what they may do."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from clients.models import Permission
from clients.quotas import UNLIMITED, Quotas
from queues.definitions import NOBODY, SERVICE_PREFIX, Definer

OPERATORS_ONLY = frozenset({Permission.ADMIN.value})
EVERYTHING_A_CLIENT_DOES = frozenset(Permission.values) - OPERATORS_ONLY
# The queue of a service is no way around the grants on the service: to post there is to ask, to read is to serve.
NEEDED_ON_SERVICES = {
    Permission.POST.value: Permission.REQUEST.value,
    Permission.FETCH.value: Permission.SERVE.value,
    Permission.CREATE.value: Permission.SERVE.value,
}


@dataclass(frozen=True, slots=True)
class Principal:
    """A key's owner, or somebody anonymous who may do all that clients do."""

    client_id: int | None = None
    client_name: str | None = None
    key_id: int | None = None
    grants: tuple[tuple[str, frozenset[str]], ...] = field(default=(("*", EVERYTHING_A_CLIENT_DOES),))
    quotas: Quotas = UNLIMITED
    addresses: tuple[str, ...] = ()  # from which its key is good

    @property
    def definer(self) -> Definer:
        """On whose account it defines queues."""
        return NOBODY if self.quotas is UNLIMITED else Definer(self.client_id, self.quotas.queues)

    def may(self, permission: str, queue_name: str) -> bool:
        """Whether it may do this with a queue; for `serve` and `request`: with a service."""
        return _granted(self.grants, permission, queue_name)

    @property
    def is_operator(self) -> bool:
        """Whether it may do what operators do where no single queue is concerned: `admin` on all of them."""
        return any(pattern == "*" and Permission.ADMIN.value in permissions for pattern, permissions in self.grants)


@lru_cache(maxsize=4096)
def _granted(grants: tuple[tuple[str, frozenset[str]], ...], permission: str, name: str) -> bool:
    if name.startswith(SERVICE_PREFIX) and permission in NEEDED_ON_SERVICES:
        permission, name = NEEDED_ON_SERVICES[permission], name.removeprefix(SERVICE_PREFIX)
    return any(permission in permissions and _matches(pattern, name) for pattern, permissions in grants)


def _matches(pattern: str, name: str) -> bool:
    """`*` stands for any characters; nothing else is special."""
    literal = pattern.replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(name, literal)


ANONYMOUS = Principal()
OPERATOR = Principal(grants=(("*", frozenset(Permission.values)),))
