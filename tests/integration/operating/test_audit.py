"""Whatever an operator does, through whichever door, is in the audit: the console, the admin, REST and manage.py.

Each door is asked what it can change, so that a new action without a row in these tables fails the test.
"""

import inspect
import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.management import call_command, get_commands
from django.db import OperationalError, connection
from django.test import Client as Browser
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from api import waiting
from clients.models import Client, Key, Node, Session
from clients.services import key_create
from delivery.facts import analyst_role
from delivery.gateway import http, http_claims
from delivery.models import AuditEntry, Message, RedriveJob
from delivery.moves.states import State
from delivery.operating import clients, dead_letters, messages, queues, redrive_jobs, sessions
from delivery.operating.audit import at_shell, audited, staff
from delivery.operating.permissions import May
from delivery.operating.schedules import schedule_create
from delivery.protocol.errors import Code, WillowError
from delivery.serving import changes
from queues.models import Queue, Tag
from queues.services import queue_create
from tests.support.admin_login import logged_in_browser
from tests.support.operators import OPERATOR

pytestmark = pytest.mark.django_db

LOOKING = (May.LOOK, May.SEE_AUDIT)
ANALYST = "willow_analyst_of_the_audit_test"


class World:
    """Something of each kind, to be acted on, and an operator who is logged in."""

    def __init__(self) -> None:
        self.browser = logged_in_browser()
        self.queue = queue_create(name="orders", tags=["eu"])
        self.other = queue_create(name="returns")
        self.dead = queue_create(name="orders.dead")
        self.key = key_create(client_name="billing", grants={"orders": frozenset({"post"})}).record
        self.client: Client = self.key.client
        self.session = Session.objects.create(token="t", client=self.client, connected_at=timezone.now())
        self.message = self._put(self.queue, State.DELAYED, available_at=timezone.now())
        self.receipt = {"receipt": f"{self.message}/1"}
        self.dead_letter = self._put(self.dead, State.READY, dead_reason="failed", origin_queue_id=self.queue.pk)
        self.running = RedriveJob.objects.create(total=1, bounds=[[self.dead.pk, 1]], undo_until=timezone.now())
        self.done = RedriveJob.objects.create(total=1, state="done", undo_until=timezone.now() + timedelta(hours=1))
        self.service = changes.service_config_change(
            name="resize", config={"size": 1}, heartbeat_interval=5, by=OPERATOR
        )
        changes.service_config_change(name="resize", config={"size": 2}, heartbeat_interval=5, by=OPERATOR)
        self.group = Group.objects.create(name="night shift")
        self.person = User.objects.create_user("colleague")
        plan = {"name": "nightly", "queue": "orders", "message": b"m", "cron": "@daily"}
        self.schedule = schedule_create(values=plan, by=OPERATOR)
        AuditEntry.objects.all().delete()

    def _put(self, queue: Queue, state: State, **fields: Any) -> str:
        Message.objects.create(queue_id=queue.pk, sequence=1, index=1, priority=0, state=state, body=b"m", **fields)
        return f"{queue.pk}/1/1"

    def console(self, screen: str, /, *args: Any, **given: Any) -> Any:
        return self.browser.post(reverse(f"console:{screen}", args=args), given)

    def admin(self, address: str, **given: Any) -> Any:
        return self.browser.post(f"/admin/{address}", given)

    def choose(self, model: str, action: str, number: Any, **given: Any) -> Any:
        return self.admin(f"{model}/", action=action, _selected_action=[number], **given)

    def rest(self, method: str, path: str, body: Any = None) -> Any:
        send: Callable[..., Any] = getattr(self.browser, method.lower())
        return send(f"/api/{path}", json.dumps(body or {}), content_type="application/json")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    # This process is no node: what its engine would answer stands here.
    stored = SimpleNamespace(queue=SimpleNamespace(id=1, name="orders"), sequence=1, index=1, duplicate=False)
    monkeypatch.setattr(http, "post", lambda command, by: [stored])
    monkeypatch.setattr(waiting, "on_node", lambda take, seconds: [])
    monkeypatch.setattr(http_claims, "settle", lambda ending: None)
    return World()


QUEUE_FORM = {
    "kind": "work", "heartbeat_timeout": "30", "retry_limit": "3", "retry_delay": "0", "retry_backoff": "1",
    "retry_delay_max": "60", "overflow": "reject", "tags": "",
}  # fmt: skip
SERVICE_FORM = {
    "heartbeat_interval": "5", "versions-TOTAL_FORMS": "0", "versions-INITIAL_FORMS": "0", "config": '{"size": 3}',
}  # fmt: skip
SCHEDULE_FORM = {
    "name": "nightly", "queue": "orders", "message": "m", "cron": "@hourly", "time_zone": "UTC", "missed": "skip",
    "priority": "0", "enabled": "on",
}  # fmt: skip
PASSWORDS = {"password1": "correct horse", "password2": "correct horse", "usable_password": "true"}

Act = Callable[[World], Any]

# By the name of a screen's address: how it acts, and the actions that the audit then has.
CONSOLE: dict[str, tuple[Act, list[str]]] = {
    "queue_new": (lambda w: w.console("queue_new", name="new", **QUEUE_FORM), ["create queue"]),
    "queue_settings": (
        lambda w: w.console("queue_settings", w.queue.pk, **{**QUEUE_FORM, "retry_limit": "9"}), ["change queue"],
    ),
    "queue_pause": (lambda w: w.console("queue_pause", w.queue.pk), ["pause queue"]),
    "queue_resume": (lambda w: w.console("queue_resume", w.queue.pk), ["resume queue"]),
    "queue_purge": (lambda w: w.console("queue_purge", w.queue.pk, typed="orders"), ["purge queue"]),
    "queue_delete": (lambda w: w.console("queue_delete", w.other.pk), ["delete queue"]),
    "messages_act": (
        lambda w: [
            w.console("messages_act", action=action, message=w.message, answered="yes", **given)
            for action, given in {
                "priority": {"priority": "3"}, "retry": {}, "move": {"queue": "returns"}, "drop": {},
            }.items()
        ],
        ["change priority", "retry messages now", "move messages", "drop messages"],
    ),
    "message_new": (
        lambda w: w.console("message_new", queue="orders", body="m", priority="0"), ["post message"],
    ),
    "message_edit": (
        lambda w: w.console("message_edit", w.queue.pk, 1, body="n", priority="1"), ["change message"],
    ),
    "service_config_new": (
        lambda w: w.console("service_config_new", name="new", heartbeat_interval="5", config="{}"),
        ["configure service"],
    ),
    "service_config_back": (
        lambda w: w.console("service_config_back", w.service.versions.get(version=1).pk),
        ["restore configuration of service"],
    ),
    "service_config_remove": (
        lambda w: w.console("service_config_remove", w.service.pk), ["delete configuration of service"],
    ),
    "dead_letters_drop": (
        lambda w: w.console("dead_letters_drop", message=w.dead_letter, word="purge"), ["drop messages"],
    ),
    "dead_letters_save": (lambda w: w.browser.get(reverse("console:dead_letters_save")), ["export dead letters"]),
    "redrive_new": (
        lambda w: w.console("redrive_new", message=w.dead_letter, undo="1h", start="yes"), ["redrive dead letters"],
    ),
    "redrive_stop": (lambda w: w.console("redrive_stop", w.running.pk), ["cancel redrive"]),
    "redrive_back": (lambda w: w.console("redrive_back", w.done.pk), ["undo redrive"]),
    "schedule_new": (
        lambda w: w.console("schedule_new", **{**SCHEDULE_FORM, "name": "hourly"}), ["create schedule"],
    ),
    "schedule_edit": (lambda w: w.console("schedule_edit", w.schedule.pk, **SCHEDULE_FORM), ["change schedule"]),
    "schedule_switch": (lambda w: w.console("schedule_switch", w.schedule.pk), ["change schedule"]),
    "schedule_run": (lambda w: w.console("schedule_run", w.schedule.pk), ["run schedule"]),
    "schedule_delete": (lambda w: w.console("schedule_delete", w.schedule.pk), ["delete schedule"]),
    "client_new": (lambda w: w.console("client_new", name="new", persistent="yes"), ["create client"]),
    "client_remove": (lambda w: (w.session.delete(), w.console("client_remove", w.client.pk)), ["delete client"]),
    "key_new": (lambda w: w.console("key_new", w.client.pk, grants="orders:post"), ["make key"]),
    "key_replace": (lambda w: w.console("key_replace", w.key.pk, grace="0s"), ["rotate key"]),
    "key_end": (lambda w: w.console("key_end", w.key.pk), ["revoke key"]),
    "session_disconnect": (lambda w: w.console("session_disconnect", w.session.pk), ["disconnect session"]),
    "session_fail": (lambda w: w.console("session_fail", w.session.pk), ["fail messages of session"]),
}  # fmt: skip

# By model and what is done to it.
ADMIN: dict[str, tuple[Act, list[str]]] = {
    "queues.queue add": (lambda w: w.admin("queues/queue/add/", name="new", **QUEUE_FORM), ["create queue"]),
    "queues.queue change": (
        lambda w: w.admin(f"queues/queue/{w.queue.pk}/change/", **{**QUEUE_FORM, "retry_limit": "9"}),
        ["change queue"],
    ),
    "queues.queue delete": (lambda w: w.admin(f"queues/queue/{w.other.pk}/delete/", post="yes"), ["delete queue"]),
    "queues.queue pause_queues": (lambda w: w.choose("queues/queue", "pause_queues", w.queue.pk), ["pause queue"]),
    "queues.queue resume_queues": (lambda w: w.choose("queues/queue", "resume_queues", w.queue.pk), ["resume queue"]),
    "queues.tag change": (
        lambda w: w.admin(f"queues/tag/{Tag.objects.get(name='eu').pk}/change/", description="Europe"),
        ["describe tag"],
    ),
    "clients.client add": (lambda w: w.admin("clients/client/add/", name="new", persistent="on"), ["create client"]),
    "clients.client delete": (
        lambda w: (w.session.delete(), w.admin(f"clients/client/{w.client.pk}/delete/", post="yes")),
        ["delete client"],
    ),
    "clients.key add": (
        lambda w: w.admin("clients/key/add/", client_name="billing", grants="orders:post"), ["make key"],
    ),
    "clients.key change": (
        lambda w: w.admin(f"clients/key/{w.key.pk}/change/", grants="orders:fetch", expires_at="30d"),
        ["change grants of key", "expire key"],
    ),
    "clients.key rotate_keys": (
        lambda w: w.choose("clients/key", "rotate_keys", w.key.pk, grace="0s"), ["rotate key"],
    ),
    "clients.key revoke_keys": (lambda w: w.choose("clients/key", "revoke_keys", w.key.pk), ["revoke key"]),
    "delivery.serviceconfig add": (
        lambda w: w.admin("delivery/serviceconfig/add/", name="new", **SERVICE_FORM), ["configure service"],
    ),
    "delivery.serviceconfig change": (
        lambda w: w.admin(f"delivery/serviceconfig/{w.service.pk}/change/", **SERVICE_FORM), ["configure service"],
    ),
    "delivery.serviceconfig delete": (
        lambda w: w.admin(f"delivery/serviceconfig/{w.service.pk}/delete/", post="yes"),
        ["delete configuration of service"],
    ),
    "delivery.serviceconfig delete_selected": (
        lambda w: w.choose("delivery/serviceconfig", "delete_selected", w.service.pk, post="yes"),
        ["delete configuration of service"],
    ),
    "delivery.serviceconfigversion restore": (
        lambda w: w.choose("delivery/serviceconfigversion", "restore", w.service.versions.get(version=1).pk),
        ["restore configuration of service"],
    ),
    "auth.group add": (lambda w: w.admin("auth/group/add/", name="new"), ["add group"]),
    "auth.group change": (lambda w: w.admin(f"auth/group/{w.group.pk}/change/", name="other"), ["change group"]),
    "auth.group delete": (lambda w: w.admin(f"auth/group/{w.group.pk}/delete/", post="yes"), ["delete group"]),
    "auth.group delete_selected": (
        lambda w: w.choose("auth/group", "delete_selected", w.group.pk, post="yes"), ["delete group"],
    ),
    "auth.user add": (lambda w: w.admin("auth/user/add/", username="new", **PASSWORDS), ["add user"]),
    "auth.user change": (
        lambda w: (
            w.admin(f"auth/user/{w.person.pk}/change/", username="other", date_joined_0="2030-01-31",
                    date_joined_1="00:00"),
            w.admin(f"auth/user/{w.person.pk}/password/", **PASSWORDS),
        ),
        ["change user", "change user"],
    ),
    "auth.user delete": (lambda w: w.admin(f"auth/user/{w.person.pk}/delete/", post="yes"), ["delete user"]),
    "auth.user delete_selected": (
        lambda w: w.choose("auth/user", "delete_selected", w.person.pk, post="yes"), ["delete user"],
    ),
}  # fmt: skip

# By view and method.
REST: dict[str, tuple[Act, list[str]]] = {
    "QueuesApi POST": (lambda w: w.rest("POST", "queues", {"name": "new"}), ["create queue"]),
    "QueueApi PATCH": (lambda w: w.rest("PATCH", f"queues/{w.queue.pk}", {"retry_limit": 9}), ["change queue"]),
    "QueueApi DELETE": (lambda w: w.rest("DELETE", f"queues/{w.other.pk}"), ["delete queue"]),
    "PauseApi POST": (lambda w: w.rest("POST", f"queues/{w.queue.pk}/pause"), ["pause queue"]),
    "ResumeApi POST": (lambda w: w.rest("POST", f"queues/{w.queue.pk}/resume"), ["resume queue"]),
    "PurgeApi POST": (lambda w: w.rest("POST", f"queues/{w.queue.pk}/purge"), ["purge queue"]),
    "MessagesApi POST": (lambda w: w.rest("POST", "messages", {"queue": "orders", "message": "m"}), ["post message"]),
    "PopApi POST": (lambda w: w.rest("POST", "messages/pop", {"queue": "orders"}), ["pop messages"]),
    "RetryApi POST": (lambda w: w.rest("POST", "messages/retry", {"ids": [w.message]}), ["retry messages now"]),
    "DropApi POST": (lambda w: w.rest("POST", "messages/drop", {"ids": [w.message]}), ["drop messages"]),
    "MoveApi POST": (
        lambda w: w.rest("POST", "messages/move", {"ids": [w.message], "to": w.other.pk}), ["move messages"],
    ),
    "PriorityApi POST": (
        lambda w: w.rest("POST", "messages/priority", {"ids": [w.message], "priority": 3}), ["change priority"],
    ),
    "MessageApi DELETE": (lambda w: w.rest("DELETE", f"messages/{w.queue.pk}/1"), ["drop messages"]),
    "ExportApi GET": (lambda w: w.browser.get("/api/dead-letters/export"), ["export dead letters"]),
    "PurgeDeadLettersApi POST": (
        lambda w: w.rest("POST", "dead-letters/purge", {"ids": [w.dead_letter]}), ["drop messages"],
    ),
    "RedrivesApi POST": (
        lambda w: w.rest("POST", "dead-letters/redrives", {"ids": [w.dead_letter]}), ["redrive dead letters"],
    ),
    "DryRunApi POST": (lambda w: w.rest("POST", "dead-letters/redrives/dry-run", {"ids": [w.dead_letter]}), []),
    "CancelRedriveApi POST": (
        lambda w: w.rest("POST", f"dead-letters/redrives/{w.running.pk}/cancel"), ["cancel redrive"],
    ),
    "UndoRedriveApi POST": (lambda w: w.rest("POST", f"dead-letters/redrives/{w.done.pk}/undo"), ["undo redrive"]),
    "SchedulesApi POST": (
        lambda w: w.rest("POST", "schedules", {"name": "new", "queue": "orders", "message": "m", "every": 60}),
        ["create schedule"],
    ),
    "ScheduleApi PUT": (
        lambda w: w.rest("PUT", "schedules/nightly", {"queue": "orders", "message": "m", "every": 60}),
        ["change schedule"],
    ),
    "ScheduleApi PATCH": (lambda w: w.rest("PATCH", "schedules/nightly", {"enabled": False}), ["change schedule"]),
    "ScheduleApi DELETE": (lambda w: w.rest("DELETE", "schedules/nightly"), ["delete schedule"]),
    "RunScheduleApi POST": (lambda w: w.rest("POST", "schedules/nightly/run"), ["run schedule"]),
    "KeyApi PATCH": (
        lambda w: w.rest("PATCH", f"keys/{w.key.pk}", {"quotas": {"queues": 1}, "addresses": ["10.0.0.0/8"]}),
        ["change quotas of key", "change addresses of key"],
    ),
    "DisconnectApi POST": (lambda w: w.rest("POST", f"sessions/{w.session.pk}/disconnect"), ["disconnect session"]),
    "QueueApiByName PATCH": (
        lambda w: w.rest("PATCH", "queue?name=orders&tag=eu", {"retry_limit": 9}), ["change queue"],
    ),
    "QueueApiByName DELETE": (lambda w: w.rest("DELETE", "queue?name=returns"), ["delete queue"]),
    "PauseApiByName POST": (lambda w: w.rest("POST", "queue/pause?name=returns"), ["pause queue"]),
    "ResumeApiByName POST": (lambda w: w.rest("POST", "queue/resume?name=returns"), ["resume queue"]),
    "PurgeApiByName POST": (lambda w: w.rest("POST", "queue/purge?name=returns"), ["purge queue"]),
    "FetchApi POST": (lambda w: w.rest("POST", "messages/fetch", {"queue": "orders"}), ["fetch messages"]),
    "FinishApi POST": (lambda w: w.rest("POST", "messages/finish", w.receipt), ["finish message"]),
    "FailApi POST": (lambda w: w.rest("POST", "messages/fail", w.receipt), ["fail message"]),
    "KeepaliveApi POST": (lambda w: w.rest("POST", "messages/keepalive", w.receipt), ["keep message alive"]),
    "ReleaseApi POST": (lambda w: w.rest("POST", "messages/release", w.receipt), ["release message"]),
    "KeysApi POST": (lambda w: w.rest("POST", "keys", {"client": "new"}), ["make key"]),
    "RotateKeyApi POST": (lambda w: w.rest("POST", f"keys/{w.key.pk}/rotate"), ["rotate key"]),
    "ExpireKeyApi POST": (
        lambda w: w.rest("POST", f"keys/{w.key.pk}/expire", {"expires_at": "2099-01-01T00:00:00Z"}), ["expire key"],
    ),
    "RevokeKeyApi POST": (lambda w: w.rest("POST", f"keys/{w.key.pk}/revoke"), ["revoke key"]),
    "ServiceConfigApi PUT": (
        lambda w: w.rest("PUT", "service-configs/new", {"config": {"a": 1}}), ["configure service"],
    ),
    "ServiceConfigApi DELETE": (
        lambda w: w.rest("DELETE", "service-configs/resize"), ["delete configuration of service"],
    ),
    "FailMessagesApi POST": (
        lambda w: w.rest("POST", f"sessions/{w.session.pk}/fail-messages"), ["fail messages of session"],
    ),
}  # fmt: skip


def run(*arguments: str) -> None:
    call_command(*arguments, stdout=StringIO(), stderr=StringIO())


# By command of ours, and what it is asked to do.
COMMANDS: dict[str, tuple[Act, list[str]]] = {
    "key": (
        lambda w: [
            run("key", "create", "--client", "new"),
            run("key", "expire", w.key.prefix, "30d"),
            run("key", "quota", w.key.prefix, "queues=1"),
            run("key", "addresses", w.key.prefix, "10.0.0.0/8"),
            run("key", "rotate", w.key.prefix, "--grace", "12h"),
            run("key", "revoke", w.key.prefix),
            run("key", "list"),
        ],
        ["make key", "expire key", "change quotas of key", "change addresses of key", "rotate key", "revoke key"],
    ),
    "second_factor": (
        lambda w: [
            TOTPDevice.objects.create(user=User.objects.create_user("forgetful"), confirmed=True),
            run("second_factor", "forgetful"),
        ],
        ["remove second factor"],
    ),
    "schedule": (
        lambda w: [
            run("schedule", "create", "new", "--queue", "orders", "--message", "m", "--every", "60"),
            run("schedule", "change", "new", "--every", "90"),
            run("schedule", "pause", "new"),
            run("schedule", "resume", "new"),
            run("schedule", "run", "new"),
            run("schedule", "delete", "new"),
            run("schedule", "list"),
        ],
        ["create schedule", *["change schedule"] * 3, "run schedule", "delete schedule"],
    ),
    "queue": (
        lambda w: [
            run("queue", "create", "new"),
            run("queue", "change", "new", "--max-in-flight", "5"),
            run("queue", "pause", "new"),
            run("queue", "resume", "new"),
            run("queue", "show", "new"),
            run("queue", "why", "new"),
        ],
        ["create queue", "change queue", "pause queue", "resume queue"],
    ),
    "analyst_role": (
        lambda w: [run("analyst_role", "create", "--role", ANALYST), run("analyst_role", "grant", "--role", ANALYST)],
        ["define analyst role", "let role read facts"],
    ),
    "post_role": (
        lambda w: [
            run("post_role", "grant", connection.settings_dict["USER"], "--queues", "*"),
            run("post_role", "revoke", connection.settings_dict["USER"]),
            run("post_role", "list"),
        ],
        ["let role post", "let role post no more"],
    ),
}
RUN_THE_BROKER = {"reaper", "serve", "prepare", "pipeline_schedule"}  # nobody acts by these

DOORS = {"console": CONSOLE, "admin": ADMIN, "rest": REST, "command": COMMANDS}
CASES = [
    pytest.param(door, *case, id=f"{door}: {name}") for door, cases in DOORS.items() for name, case in cases.items()
]


@pytest.mark.parametrize(("door", "act", "actions"), CASES)
def test_every_action_of_every_door_is_in_the_audit(world: World, door: str, act: Act, actions: list[str]) -> None:
    act(world)
    by = at_shell() if door == "command" else staff(User.objects.get(username="operator"))
    entries = AuditEntry.objects.order_by("id").values_list("actor", "actor_kind", "user_id", "action")
    assert list(entries) == [(by.name, by.kind, by.user_id, action) for action in actions]


def test_every_screen_that_acts_is_among_these() -> None:
    patterns = [pattern for pattern in leaves(get_resolver("console.urls")) if hasattr(pattern.callback, "may")]
    assert {pattern.name for pattern in patterns if pattern.callback.may not in LOOKING} == CONSOLE.keys()


def test_every_rest_view_that_changes_something_is_among_these() -> None:
    views = {pattern.callback.cls for pattern in leaves(get_resolver("api.urls")) if hasattr(pattern.callback, "cls")}
    methods = ("POST", "PUT", "PATCH", "DELETE")
    found = {f"{view.__name__} {method}" for view in views for method in methods if hasattr(view, method.lower())}
    assert found | {"ExportApi GET"} == REST.keys()


def leaves(resolver: URLResolver) -> list[URLPattern]:
    found: list[URLPattern] = []
    for pattern in resolver.url_patterns:
        found += leaves(pattern) if isinstance(pattern, URLResolver) else [pattern]
    return found


def test_every_change_that_the_admin_can_make_is_among_these() -> None:
    request = RequestFactory().get("/admin/")
    request.user = User.objects.create_superuser("root")
    found = set()
    for model, pages in admin.site._registry.items():
        for what in ("add", "change", "delete"):
            if getattr(pages, f"has_{what}_permission")(request):
                found.add(f"{model._meta.label_lower} {what}")
        found |= {f"{model._meta.label_lower} {action}" for action in pages.get_actions(request)}
    assert found == ADMIN.keys()


def test_every_command_is_among_these() -> None:
    ours = {name for name, app in get_commands().items() if app in ("delivery", "clients", "queues", "willow_site")}
    assert ours == COMMANDS.keys() | RUN_THE_BROKER


READERS = {
    "queue_record", "act_on_filter", "drop_batch", "failed_places", "describe", "queues_of", "dead_letter_queue_ids",
    "dead_letter_groups", "check_are_dead_letter_queues", "redrive_dry_run", "check_config",
    "check_heartbeat_interval", "values_of", "already_there", "preview", "upcoming", "database_now",
    "statements_for_an_administrator",
}  # fmt: skip


@pytest.mark.parametrize(
    "module", [clients, queues, messages, dead_letters, redrive_jobs, sessions, changes, analyst_role]
)
def test_nothing_can_be_done_without_naming_who_does_it(module: ModuleType) -> None:
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if inspect.getmodule(function) is module and not name.startswith("_") and name not in READERS:
            by = inspect.signature(function).parameters.get("by")
            assert by is not None and by.default is inspect.Parameter.empty, f"{module.__name__}.{name}"


def test_what_is_refused_leaves_no_entry(world: World) -> None:
    Session.objects.update(node=Node.objects.create(name="north"))
    world.rest("DELETE", f"queues/{world.queue.pk}")  # it holds a message
    world.console("client_remove", world.client.pk)  # it is connected
    world.admin("clients/client/add/", name="bad\nname")
    world.rest("POST", f"dead-letters/redrives/{world.done.pk}/cancel")
    with pytest.raises(ValidationError), audited(by=OPERATOR, action="drop messages", target="orders"):
        raise ValidationError("no")
    with pytest.raises(WillowError), audited(by=OPERATOR, action="pop messages", target="orders"):
        raise WillowError(Code.UNAVAILABLE, "node", "no")
    assert not AuditEntry.objects.exists()


def test_an_entry_is_there_before_the_first_batch_and_says_if_it_was_broken_off() -> None:
    with pytest.raises(OSError), audited(by=OPERATOR, action="drop messages", target="orders") as tally:
        entry = AuditEntry.objects.get()
        assert entry.details == {"broken_off": True}
        tally.done = 3
        raise OSError
    entry.refresh_from_db()
    assert (entry.messages, entry.details["broken_off"], entry.details["done"]) == (3, True, 3)


def test_counts_that_cannot_be_written_are_no_failure_of_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*args: Any, **kwargs: Any) -> None:
        raise OperationalError

    with audited(by=OPERATOR, action="drop messages", target="orders"):
        monkeypatch.setattr(AuditEntry, "save", gone)
    assert AuditEntry.objects.get().details == {"broken_off": True}


def test_what_is_undone_takes_its_entry_along(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry and what it is about are in one transaction."""
    monkeypatch.setattr("delivery.operating.clients.audit", fails)
    monkeypatch.setattr("delivery.operating.queues.audit", fails)
    for act in (
        lambda: clients.key_revoke(key=world.key, by=OPERATOR),
        lambda: clients.client_create(name="new", persistent=True, by=OPERATOR),
        lambda: queues.queue_pause(queue=world.queue, by=OPERATOR),
        lambda: queues.queue_create(name="new", by=OPERATOR),
    ):
        with pytest.raises(OSError):
            act()
    assert Key.objects.get().revoked_at is None
    assert not Client.objects.filter(name="new").exists()
    assert not Queue.objects.filter(name="new").exists() and not Queue.objects.filter(paused=True).exists()


def fails(**entry: Any) -> None:
    raise OSError


def test_no_secret_of_a_new_key_is_in_its_entry(world: World) -> None:
    new = clients.key_create(client_name="billing", grants={"orders": frozenset({"post"})}, by=OPERATOR)
    rotated = clients.key_rotate(key=new.record, by=OPERATOR)
    told = str(list(AuditEntry.objects.values()))
    assert new.record.prefix in told and rotated.record.prefix in told
    assert new.secret not in told and rotated.secret not in told


def test_what_clients_do_with_their_keys_is_not_audited(world: World) -> None:
    new = key_create(client_name="billing", grants={"orders": frozenset({"post"})})
    answer = Browser().post(
        "/api/messages",
        json.dumps({"queue": "orders", "message": "m"}),
        content_type="application/json",
        headers={"Authorization": f"Token {new.secret}"},
    )
    assert answer.status_code == 201
    assert not AuditEntry.objects.exists()
