"""What a person may do: the one list of permissions and the one decision, for the console and REST.

Each is a Django permission, to be given to users and groups; Django's admin asks for the same ones. Keys have grants
instead (clients/principal.py).
"""

from enum import StrEnum

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
    CHANGE_SCHEDULES = "delivery.change_schedule"
    GRANT_ADMIN = "console.grant_admin"
    CHANGE_SERVICES = "delivery.change_serviceconfig"


def allowed(user: User | AnonymousUser, may: May) -> bool:
    return user.is_active and user.is_staff and user.has_perm(may)


def permissions_of(user: User | AnonymousUser) -> dict[str, bool]:
    """For templates: `may.change_queues` and so on."""
    return {may.name.lower(): allowed(user, may) for may in May}


def refusal(may: May) -> str:
    """What somebody is told who may not."""
    return f"Your account does not have the permission {may}."
