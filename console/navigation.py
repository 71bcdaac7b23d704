"""The sidebar: every screen, in the order in which an operator asks."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from delivery.operating.permissions import May, allowed


@dataclass(frozen=True, slots=True)
class Item:
    title: str
    icon: str  # of Material Symbols
    name: str  # of its address
    inner: tuple[str, ...] = ()  # names of the pages that belong to it
    may: May = May.LOOK


QUEUE_PAGES = ("console:queue", "console:queue_new", "console:queue_settings", "console:queue_purge",
               "console:queue_delete")  # fmt: skip
SCHEDULE_PAGES = ("console:schedule", "console:schedule_new", "console:schedule_edit", "console:schedule_run",
                  "console:schedule_switch", "console:schedule_delete")  # fmt: skip

CONFIG_PAGES = ("console:service_config", "console:service_config_new")
MESSAGE_PAGES = ("console:message", "console:message_new", "console:message_edit", "console:messages_act")

ITEMS: dict[str, tuple[Item, ...]] = {
    "": (Item("Overview", "monitoring", "console:overview"),),
    "Messages": (
        Item("Queues", "stacks", "console:queues", QUEUE_PAGES),
        Item("Messages", "mail", "console:messages", MESSAGE_PAGES),
        Item("Work in progress", "pending_actions", "console:work"),
        Item(
            "Dead letters",
            "skull",
            "console:dead_letters",
            ("console:dead_letter_list", "console:dead_letters_drop", "console:redrive_new", "console:redrive"),
        ),
        Item("Schedules", "schedule", "console:schedules", SCHEDULE_PAGES),
        Item("Tag explainer", "sell", "console:tag_explainer"),
    ),
    "Programs": (
        Item("Clients", "devices", "console:clients", ("console:client", "console:client_new", "console:key_new")),
        Item("Keys", "key", "console:keys", ("console:key_replace", "console:key_end")),
        Item("Sessions", "lan", "console:sessions"),
        Item("Services", "handshake", "console:services", ("console:service",)),
        Item("Service configurations", "tune", "console:service_configs", CONFIG_PAGES),
    ),
    "Broker": (
        Item("Nodes", "hub", "console:nodes"),
        Item("Reaper", "cleaning_services", "console:reaper"),
        Item("Database", "database", "console:database"),
        Item("Analysts", "query_stats", "console:analysts"),
        Item("Audit", "history_edu", "console:audit", may=May.SEE_AUDIT),
    ),
}

RECORDS = (
    ("Tags", "label", "queues_tag", "queues.view_tag"),
    ("People", "person", "auth_user", "auth.view_user"),
    ("Groups", "group", "auth_group", "auth.view_group"),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    here = request.resolver_match.view_name if request.resolver_match else ""
    groups = [
        {"title": title, "separator": False, "items": [_shown(item, here, request) for item in items]}
        for title, items in ITEMS.items()
    ]
    records = [_record(*record, here=here, request=request) for record in RECORDS]
    return [*groups, {"title": "Records", "separator": True, "items": records}]


def _shown(item: Item, here: str, request: HttpRequest) -> dict[str, Any]:
    return {
        "title": item.title,
        "icon": item.icon,
        "link": reverse(item.name),
        "active": here == item.name or here in item.inner,
        "permission": lambda _: allowed(request.user, item.may),
    }


def _record(title: str, icon: str, model: str, permission: str, *, here: str, request: HttpRequest) -> dict[str, Any]:
    return {
        "title": title,
        "icon": icon,
        "link": reverse(f"admin:{model}_changelist"),
        "active": here.startswith(f"admin:{model}_"),
        "permission": lambda _: request.user.has_perm(permission),
    }
