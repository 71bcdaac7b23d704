"""Nobody gives away more than they have: which staff may make keys with which grants."""

import pytest
from django.test import Client as Browser

from clients.models import Client, Key
from clients.selectors import grants_of
from clients.services import key_create
from tests.support.console_staff import staff_browser

pytestmark = pytest.mark.django_db

KEYS = "/admin/clients/key/"
# What staff must have, apart from the right to make keys, to give each permission away.
NEEDED = {
    "admin": ["grant_admin"],
    "post": ["change_messages"],
    "request": ["change_messages"],
    "fetch": ["see_bodies", "change_messages"],
    "serve": ["see_bodies", "change_messages"],
    "create": ["add_queue"],
}


def make_in_admin(browser: Browser, grants: str) -> None:
    browser.post(f"{KEYS}add/", {"client_name": "mine", "grants": grants})


def make_in_console(browser: Browser, grants: str) -> None:
    owner, _ = Client.objects.get_or_create(name="mine", persistent=True)
    browser.post(f"/console/clients/{owner.pk}/keys/new/", {"grants": grants})


@pytest.mark.parametrize("make", [make_in_admin, make_in_console])
@pytest.mark.parametrize("permission", NEEDED)
def test_a_key_is_made_only_with_grants_that_its_maker_may_give(make: object, permission: str) -> None:
    others = {name for names in NEEDED.values() for name in names} - {NEEDED[permission][-1]}
    browser = staff_browser("look", "add_key", "view_key", *others)
    make(browser, f"*:{permission}")
    assert not Key.objects.exists()
    make(browser, "")
    assert Key.objects.count() == 1, "a key without grants only identifies its client"


@pytest.mark.parametrize("permission", NEEDED)
def test_who_has_the_permission_gives_it(permission: str) -> None:
    make_in_admin(staff_browser("look", "add_key", *NEEDED[permission]), f"orders:{permission}")
    assert grants_of(Key.objects.get()) == {"orders": {permission}}


def test_a_strong_key_is_neither_rotated_nor_changed_by_who_could_not_make_it() -> None:
    strong = key_create(client_name="operators", grants={"*": frozenset({"admin"})}).record
    weak = key_create(client_name="posters", grants={"*": frozenset({"post"})}).record
    browser = staff_browser("look", "add_key", "change_key", "view_key")
    browser.post(KEYS, {"action": "rotate_keys", "_selected_action": [strong.pk], "grace": "1h"})
    browser.post(f"/console/keys/{strong.pk}/rotate/", {"grace": "1h"})
    browser.post(f"{KEYS}{weak.pk}/change/", {"grants": "*:post,admin", "expires_at": ""})
    assert Key.objects.count() == 2
    assert grants_of(weak) == {"*": {"post"}}
    browser.post(f"{KEYS}{strong.pk}/change/", {"grants": "", "expires_at": ""})
    assert grants_of(strong) == {}, "taking rights away needs no more than the right to change keys"
