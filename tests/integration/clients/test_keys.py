"""`manage.py key`: making, listing, rotating, expiring and revoking keys."""

import re
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now
from django.test import Client as Browser

from clients.grants import read_grants
from clients.models import Client, Grant, Key, Node, Session
from clients.selectors import grants_of, key_with_prefix
from clients.services import PREFIX_LENGTH, key_create, key_revoke, key_rotate, key_set_grants
from clients.statements import statement as client_statement
from delivery.operating.models import AuditEntry

pytestmark = pytest.mark.django_db

GRANTED, NOT_GRANTED, NOT_VALID = 404, 403, 401  # what the status of a queue that does not exist answers


def run_key(*arguments: str) -> str:
    """What the command prints."""
    output = StringIO()
    call_command("key", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue().rstrip("\n")


def answer_to(key: str, queue: str = "orders") -> int:
    return Browser().get(f"/status/{queue}", headers={"Authorization": f"Token {key}"}).status_code


def of(key: str) -> Key:
    return key_with_prefix(key[:PREFIX_LENGTH])


@pytest.fixture
def key() -> str:
    return run_key("create", "--client", "billing", "--grant", "orders*:post,fetch")


def test_a_new_key_is_printed_alone_and_lets_its_client_in(key: str) -> None:
    assert re.fullmatch(r"wk_[\w-]{43}", key)
    assert answer_to(key, "orders") == answer_to(key, "orders.dead") == GRANTED
    assert answer_to(key, "invoices") == NOT_GRANTED
    assert answer_to(key[:-1] + "!") == NOT_VALID


def test_only_the_hash_of_a_key_is_stored(key: str) -> None:
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s', [f"%{key[PREFIX_LENGTH:]}%"])
            assert cursor.fetchone() == (0,), table


def test_no_two_keys_are_alike() -> None:
    assert len({run_key("create", "--client", "billing") for _ in range(20)}) == 20
    assert Client.objects.count() == 1


def test_a_key_for_a_new_client_makes_it() -> None:
    run_key("create", "--client", "kept", "--persistent")
    run_key("create", "--client", "passing")
    assert dict(Client.objects.values_list("name", "persistent")) == {"kept": True, "passing": False}


def test_grants_on_one_pattern_are_added_up() -> None:
    key = run_key("create", "--client", "c", "--grant", "a:post", "--grant", "a: fetch, post", "--grant", "b:c:admin")
    assert grants_of(of(key)) == {"a": {"post", "fetch"}, "b:c": {"admin"}}


PERMISSIONS = "post, fetch, create, serve, request, admin"
WRONG = [
    (
        ["--grant", "orders"],
        "A grant must be written as PATTERN:PERMISSION,… such as orders*:post,fetch, not 'orders'.",
    ),
    (["--grant", "orders:read"], f"'read' is not a permission; the permissions are {PERMISSIONS}."),
    (["--grant", "orders:"], f"The grant on orders has no permissions; it must name at least one of {PERMISSIONS}."),
    (
        ["--grant", ":post"],
        "The pattern of a grant must be 1 to 200 printable ASCII characters, with `*` for any characters, not ''.",
    ),
    (["--expires", "2020-01-31"], "A key must expire in the future, not on 2020-01-31 00:00:00 UTC."),
    (["--expires", "0d"], None),
    (
        ["--expires", "soon"],
        "A time must be written as 30m, 12h or 90d from now, or as a date such as 2030-01-31 or 2030-01-31T18:00Z, "
        "not 'soon'.",
    ),
    (["--client", "zürich"], "A client's name must be 1 to 200 printable ASCII characters, not 'zürich'."),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_bad_input_is_refused_with_what_was_expected(arguments: list[str], sentence: str | None) -> None:
    with pytest.raises(CommandError) as refusal:
        run_key("create", "--client", "billing", *arguments)
    assert sentence is None or str(refusal.value) == sentence
    assert not Client.objects.exists()
    assert not Key.objects.exists()


def test_a_transient_client_does_not_become_persistent_by_the_way(key: str) -> None:
    with pytest.raises(CommandError, match="The client billing already exists, and it is not persistent"):
        run_key("create", "--client", "billing", "--persistent")


@pytest.mark.parametrize("command", [["revoke"], ["rotate"], ["expire", "1d"]])
def test_an_unknown_key_is_named(command: list[str]) -> None:
    action, *rest = command
    with pytest.raises(CommandError, match=r"There is no key 'wk_nobody'; `manage\.py key list` shows"):
        run_key(action, "wk_nobody", *rest)


def test_keys_are_listed_without_their_secret(key: str) -> None:
    other = run_key("create", "--client", "audit", "--expires", "2099-12-31")
    run_key("revoke", other[:PREFIX_LENGTH])
    assert [re.split(r" {2,}", line) for line in run_key("list").splitlines()] == [
        ["KEY", "CLIENT", "STATE", "EXPIRES", "LAST USED", "QUOTAS", "FROM", "GRANTS"],
        [other[:PREFIX_LENGTH], "audit", "revoked", "2099-12-31 00:00", "never", "defaults", "everywhere"],
        [key[:PREFIX_LENGTH], "billing", "valid", "never", "never", "defaults", "everywhere", "orders*:post,fetch"],
    ]
    assert "audit" not in run_key("list", "--client", "billing")
    with pytest.raises(CommandError, match="There is no client 'nobody'"):
        run_key("list", "--client", "nobody")


def test_the_list_tells_when_a_key_was_last_used(key: str) -> None:
    answer_to(key)
    assert f"{datetime.now(UTC):%Y-%m-%d}" in run_key("list")


def test_rotating_ends_the_old_key_and_hands_its_grants_on(key: str) -> None:
    new = run_key("rotate", key[:PREFIX_LENGTH])
    assert answer_to(key) == NOT_VALID
    assert (answer_to(new, "orders"), answer_to(new, "invoices")) == (GRANTED, NOT_GRANTED)
    assert of(new).client == of(key).client
    with pytest.raises(CommandError, match="cannot be rotated, because it is revoked"):
        run_key("rotate", key[:PREFIX_LENGTH])


def test_with_grace_the_old_key_runs_on_for_a_while(key: str) -> None:
    new = run_key("rotate", key[:PREFIX_LENGTH], "--grace", "12h")
    assert answer_to(key) == answer_to(new) == GRANTED
    expires_at = of(key).expires_at
    assert expires_at is not None
    assert abs(expires_at - datetime.now(UTC) - timedelta(hours=12)) < timedelta(minutes=1)
    assert of(new).expires_at is None


def test_rotating_never_prolongs_by_itself() -> None:
    key = run_key("create", "--client", "billing", "--expires", "2099-12-31")
    end = of(key).expires_at
    new = run_key("rotate", key[:PREFIX_LENGTH], "--grace", "36500d")
    assert of(key).expires_at == of(new).expires_at == end
    newer = run_key("rotate", new[:PREFIX_LENGTH], "--expires", "2100-01-01")
    assert of(newer).expires_at == datetime(2100, 1, 1, tzinfo=UTC)


def test_a_key_expires(key: str) -> None:
    run_key("expire", key[:PREFIX_LENGTH], "1h")
    assert answer_to(key) == GRANTED
    Key.objects.update(expires_at=Now() - timedelta(hours=1))
    assert answer_to(key) == NOT_VALID
    assert " expired " in run_key("list")
    run_key("expire", key[:PREFIX_LENGTH], "1h")
    assert answer_to(key) == GRANTED


def test_a_key_cannot_expire_in_the_past(key: str) -> None:
    with pytest.raises(CommandError, match="A key must expire in the future"):
        run_key("expire", key[:PREFIX_LENGTH], "2020-01-31")


def test_a_revoked_key_stays_revoked(key: str) -> None:
    run_key("revoke", key[:PREFIX_LENGTH])
    assert answer_to(key) == NOT_VALID
    first = of(key).revoked_at
    run_key("revoke", key[:PREFIX_LENGTH])
    assert of(key).revoked_at == first
    with pytest.raises(CommandError, match="was revoked; create a new one"):
        run_key("expire", key[:PREFIX_LENGTH], "1d")
    assert answer_to(key) == NOT_VALID


def test_grants_are_replaced_as_a_whole(key: str) -> None:
    key_set_grants(key=of(key), grants=read_grants(["invoices:post"]))
    assert (answer_to(key, "orders"), answer_to(key, "invoices")) == (NOT_GRANTED, GRANTED)
    assert Grant.objects.count() == 1


def test_a_key_that_was_revoked_meanwhile_is_not_rotated() -> None:
    record = key_create(client_name="billing", grants={}).record
    key_revoke(key=record)
    with pytest.raises(Exception, match="cannot be rotated, because it is revoked"):
        key_rotate(key=record)


def test_what_is_done_at_the_shell_is_audited_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="willow.audit"):
        key = run_key("create", "--client", "billing", "--grant", "orders:post")
        run_key("expire", key[:PREFIX_LENGTH], "90d")
        run_key("revoke", key[:PREFIX_LENGTH])
    done = ["make key", "expire key", "revoke key"]
    entries = AuditEntry.objects.order_by("id")
    assert [(entry.action, entry.target, entry.actor_kind) for entry in entries] == [
        (action, "billing", "system") for action in done
    ]
    lines = [record.getMessage() for record in caplog.records if record.name == "willow.audit"]
    assert [line.split(": ", 1)[1] for line in lines] == [f"{action}, billing" for action in done]
    assert not any(key in line for line in lines)


def test_quotas_and_addresses_are_set_shown_and_handed_on(key: str) -> None:
    prefix = key[:PREFIX_LENGTH]
    shown = run_key("quota", prefix, "connections=10", "posts_per_second=0").splitlines()
    assert "connections=10" in shown and "queues=10000 (default)" in shown
    assert run_key("quota", prefix).splitlines() == shown, "without a quota it changes none"
    run_key("addresses", prefix, "10.0.0.0/8", "192.168.1.7")
    assert run_key("addresses", prefix).endswith("is good from 10.0.0.0/8, 192.168.1.7/32.")
    [line] = [line for line in run_key("list").splitlines() if line.startswith(prefix)]
    assert "connections=10 posts_per_second=0  10.0.0.0/8 192.168.1.7/32  " in line
    new = of(run_key("rotate", prefix))
    assert (new.quotas, new.addresses) == (
        {"connections": 10, "posts_per_second": 0},
        ["10.0.0.0/8", "192.168.1.7/32"],
    )
    assert answer_to(key) == NOT_VALID
    assert "connections=1000 (default)" in run_key("quota", new.prefix, "--defaults")
    run_key("addresses", new.prefix, "--everywhere")
    new.refresh_from_db()
    assert (new.quotas, new.addresses) == ({}, [])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--quota", "conections=1"], "'conections' is not a quota"),
        (["--quota", "queues"], "A quota must be written as NAME=NUMBER"),
        (["--quota", "queues=-1"], "A quota must be written as NAME=NUMBER"),
        (["--from", "10.0.0.1/8"], "An address range must be a network such as 10.0.0.0/8"),
    ],
)
def test_wrong_quotas_and_addresses_are_refused(arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        run_key("create", "--client", "c", *arguments)
    assert not Key.objects.exists()


def test_connections_that_ended_are_not_looked_at(key: str) -> None:
    """They are kept for a day, and anybody may make many."""
    record = of(key)
    node = Node.objects.create(name="n", url="")
    ended = [Session(token=f"{number}", key=record, ended_at=Now()) for number in range(5000)]
    Session.objects.bulk_create([*ended, Session(token="live", key=record, node=node)])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE clients_session")
        counting = client_statement("connections_of_key")
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {counting}", {"key": record.pk, "limit": 1000})
        plan = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute(counting, {"key": record.pk, "limit": 1000})
        assert cursor.fetchone() == (1,)
    assert "live_session_of_key" in plan
    assert "Rows Removed" not in plan


def test_a_key_that_is_used_all_the_time_is_written_now_and_then(key: str) -> None:
    assert answer_to(key) == GRANTED
    first = of(key).last_used_at
    for _ in range(3):
        assert answer_to(key) == GRANTED
    assert of(key).last_used_at == first
    Key.objects.update(last_used_at=Now() - timedelta(seconds=2))
    assert answer_to(key) == GRANTED
    assert of(key).last_used_at >= first
