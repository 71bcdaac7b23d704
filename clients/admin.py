"""The admin's pages of clients, nodes and sessions, as far as they only show: delivery/admin.py adds what changes
them, and the pages of keys."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from clients.models import Client, Key, Node, Session, Subscription
from clients.selectors import key_state, live_session_of
from queues.admin_bases import ReadOnlyAdmin, ReadOnlyInline, ServiceAdmin


class SubscriptionInline(ReadOnlyInline):
    model = Subscription
    fields = ("label", "name", "tags", "match", "in_flight", "work_timeout", "sync")


class KeyInline(ReadOnlyInline):
    model = Key
    fields = ("prefix", "state", "created_at", "expires_at", "last_used_at")
    show_change_link = True

    @admin.display
    def state(self, key: Key) -> str:
        return key_state(key)


class ClientAdmin(ServiceAdmin):
    """What does not need messages or the audit; delivery/admin.py adds those, and registers it."""

    list_display = ["name", "persistent", "defined_at", "last_seen_at"]
    list_filter = ["persistent"]
    search_fields = ["name"]
    ordering = ["name"]
    show_full_result_count = False
    actions = None  # each client has its own reason why it may not be deleted
    creation_fields = ["name", "persistent"]
    shown_fields = [*creation_fields, "defined_at", "last_seen_at", "connected_to"]

    def has_change_permission(self, request: HttpRequest, obj: Client | None = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: Client | None = None) -> Any:
        return self.creation_fields if obj is None else self.shown_fields

    def get_inlines(self, request: HttpRequest, obj: Client | None) -> Any:
        return [] if obj is None else [SubscriptionInline, KeyInline]

    @admin.display
    def connected_to(self, client: Client) -> str:
        session = live_session_of(client)
        return f"{session.node}, since {session.connected_at:%Y-%m-%d %H:%M:%S %Z}" if session else "not connected"

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Keys and sessions cannot be deleted by themselves, but they go with their client."""
        to_delete, counts, _, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, set(), protected


@admin.register(Node)
class NodeAdmin(ReadOnlyAdmin):
    list_display = ["name", "url", "started_at", "heartbeat_at", "draining", "sockets"]
    ordering = ["name"]


# Without the token: who knows it can take the identity up.
SHOWN_OF_SESSION = ("id", "client", "key", "node", "address", "connected_at", "held_until", "ended_at")


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    list_display = SHOWN_OF_SESSION
    fields = SHOWN_OF_SESSION
    list_select_related = ["client", "key__client", "node"]
    list_filter = ["node"]
    search_fields = ["client__name", "address"]
    ordering = ["-id"]
    show_full_result_count = False
