"""What a person may do in the console. Each is a Django permission, to be given to users and groups."""

from enum import StrEnum
from typing import Final

from django.contrib.auth.models import AnonymousUser, User


class May(StrEnum):
    """By name in code, by value in Django."""

    LOOK = "console.look"
    SEE_BODIES = "console.see_bodies"
    SEE_AUDIT = "console.see_audit"
    CREATE_QUEUES = "queues.add_queue"
    CHANGE_QUEUES = "queues.change_queue"
    DELETE_QUEUES = "queues.delete_queue"
    PURGE_QUEUES = "console.purge_queues"
    CHANGE_MESSAGES = "console.change_messages"
    REDRIVE = "console.redrive_dead_letters"
    DISCONNECT = "console.disconnect_clients"
    CREATE_CLIENTS = "clients.add_client"
    DELETE_CLIENTS = "clients.delete_client"
    MAKE_KEYS = "clients.add_key"
    CHANGE_KEYS = "clients.change_key"


# The console's own; the others come with their models.
CONSOLE_PERMISSIONS: Final = (
    ("look", "Can look at the console"),
    ("see_bodies", "Can see the bodies of messages"),
    ("see_audit", "Can see the audit trail"),
    ("purge_queues", "Can purge queues"),
    ("change_messages", "Can retry, drop and move messages and change their priority"),
    ("redrive_dead_letters", "Can redrive and purge dead letters"),
    ("disconnect_clients", "Can disconnect clients and fail their messages"),
)


def allowed(user: User | AnonymousUser, may: May) -> bool:
    return user.is_active and user.is_staff and user.has_perm(may)


def permissions_of(user: User | AnonymousUser) -> dict[str, bool]:
    """For templates: `may.change_queues` and so on."""
    return {may.name.lower(): allowed(user, may) for may in May}
