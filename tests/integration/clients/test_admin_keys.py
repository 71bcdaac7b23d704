"""Keys in the admin: made, rotated, changed and revoked, with each new key shown once and kept nowhere."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client as Browser

from clients.models import Client, Key
from clients.selectors import grants_of, key_state, keys_with_grants
from clients.services import NewKey, key_create
from tests.support.admin_login import logged_in_browser

pytestmark = pytest.mark.django_db

KEYS = "/admin/clients/key/"
SECRET = re.compile(r"wk_[\w-]{43}")


@pytest.fixture
def browser() -> Browser:
    return logged_in_browser()


@pytest.fixture
def old() -> NewKey:
    return key_create(client_name="billing", grants={"orders": frozenset({"post"})})


def make(browser: Browser, **fields: Any) -> str:
    answer = browser.post(f"{KEYS}add/", {"client_name": "billing", "grants": "orders*:post,fetch", **fields})
    assert answer.status_code == 200
    return answer.content.decode()


def act(browser: Browser, action: str, key: Key, **fields: Any) -> str:
    return browser.post(KEYS, {"action": action, "_selected_action": [key.pk], **fields}, follow=True).content.decode()


def is_valid(secret: str) -> bool:
    return Browser().get("/status/orders", headers={"Authorization": f"Token {secret}"}).status_code != 401


def assert_is_stored_nowhere(secret: str) -> None:
    """Not even in sessions and messages of the admin."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s', [f"%{secret[12:]}%"])
            assert cursor.fetchone() == (0,), table


def test_a_new_key_is_shown_once(browser: Browser) -> None:
    [secret] = SECRET.findall(make(browser))
    assert is_valid(secret)
    assert_is_stored_nowhere(secret)
    record = Key.objects.get()
    for page in (KEYS, f"{KEYS}{record.pk}/change/", f"{KEYS}{record.pk}/history/"):
        shown = browser.get(page)
        assert record.prefix in shown.content.decode()
        assert secret not in shown.content.decode()
        assert not any(secret in cookie.value for cookie in browser.cookies.values())
    assert grants_of(record) == {"orders*": {"post", "fetch"}}


def test_the_answer_with_the_key_is_not_cached(browser: Browser) -> None:
    answer = browser.post(f"{KEYS}add/", {"client_name": "billing"})
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"grants": "orders:read"}, "is not a permission; the permissions are post, fetch"),
        ({"grants": ":post"}, "The pattern of a grant must be 1 to 200 printable ASCII characters"),
        ({"expires_at": "2020-01-31"}, "A key must expire in the future, not on 2020-01-31"),
        ({"expires_at": "soon"}, "A time must be written as 30m, 12h or 90d from now"),
        ({"client_name": ""}, "This field is required"),
    ],
)
def test_bad_input_is_told_on_the_form(browser: Browser, fields: dict[str, str], sentence: str) -> None:
    page = make(browser, **fields)
    assert sentence in page
    assert not SECRET.search(page)
    assert not Key.objects.exists()
    assert not Client.objects.exists()


def test_rotating_asks_for_the_grace_and_shows_the_new_key(browser: Browser, old: NewKey) -> None:
    question = act(browser, "rotate_keys", old.record)
    assert "The old key stays valid for" in question
    assert key_state(Key.objects.get()) == "valid"
    [secret] = SECRET.findall(act(browser, "rotate_keys", old.record, grace="0s"))
    assert (is_valid(secret), is_valid(old.secret)) == (True, False)
    assert_is_stored_nowhere(secret)
    assert {str(grants_of(key)) for key in keys_with_grants()} == {str({"orders": frozenset({"post"})})}


def test_with_grace_both_keys_are_good(browser: Browser, old: NewKey) -> None:
    [secret] = SECRET.findall(act(browser, "rotate_keys", old.record, grace="12h"))
    assert is_valid(secret)
    assert is_valid(old.secret)


def test_of_several_keys_all_are_rotated_or_none(browser: Browser, old: NewKey) -> None:
    ended = key_create(client_name="zebra", grants={}).record
    act(browser, "revoke_keys", ended)
    page = browser.post(
        KEYS, {"action": "rotate_keys", "_selected_action": [old.record.pk, ended.pk], "grace": "0s"}
    ).content.decode()
    assert "cannot be rotated, because it is revoked" in page
    assert Key.objects.count() == 2
    assert is_valid(old.secret)


def test_revoking_ends_a_key(browser: Browser, old: NewKey) -> None:
    assert f"Revoked: {old.record.prefix}." in act(browser, "revoke_keys", old.record)
    assert not is_valid(old.secret)


def test_grants_and_end_are_changed(browser: Browser, old: NewKey) -> None:
    page = f"{KEYS}{old.record.pk}/change/"
    browser.post(page, {"grants": "invoices:post\r\norders:fetch", "expires_at": "2099-12-31"})
    [key] = keys_with_grants()
    assert grants_of(key) == {"invoices": {"post"}, "orders": {"fetch"}}
    assert f"{key.expires_at:%Y-%m-%d}" == "2099-12-31"
    assert is_valid(old.secret)


def test_saving_a_key_unchanged_changes_nothing(browser: Browser, old: NewKey) -> None:
    page = f"{KEYS}{old.record.pk}/change/"
    browser.post(page, {"grants": "orders:post", "expires_at": "2099-12-31T10:00Z"})
    form = browser.get(page).context["adminform"].form
    before = keys_with_grants().get().grants.get().pk
    browser.post(page, {name: form[name].value() for name in form.fields})
    assert keys_with_grants().get().grants.get().pk == before
    assert LogEntry.objects.first().change_message == "[]"


def test_a_revoked_key_cannot_be_changed(browser: Browser, old: NewKey) -> None:
    act(browser, "revoke_keys", old.record)
    answer = browser.post(f"{KEYS}{old.record.pk}/change/", {"grants": "orders:fetch"}, follow=True)
    assert "was revoked; create a new one" in answer.content.decode()
    assert grants_of(keys_with_grants().get()) == {"orders": {"post"}}


def test_keys_are_not_deleted(browser: Browser, old: NewKey) -> None:
    assert browser.post(f"{KEYS}{old.record.pk}/delete/", {"post": "yes"}).status_code == 403
    assert "delete_selected" not in browser.get(KEYS).content.decode()


def test_a_visitor_is_sent_to_the_login() -> None:
    answer = Browser().post(f"{KEYS}add/", {"client_name": "billing"})
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/admin/login/?next={KEYS}add/")
    assert not Key.objects.exists()
