"""Nobody gets more rights by managing accounts: only superusers give any."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client as Browser

from tests.support.console_staff import staff_browser

pytestmark = pytest.mark.django_db

USERS, GROUPS = "/admin/auth/user/", "/admin/auth/group/"
MANAGES = [f"{action}_{what}" for action in ("view", "add", "change", "delete") for what in ("user", "group")]
PASSWORDS = {"password1": "as9d8f7as9df", "password2": "as9d8f7as9df", "usable_password": "true"}


@pytest.fixture
def manager() -> Browser:
    return staff_browser("look", *MANAGES)


@pytest.fixture
def see_bodies() -> Permission:
    return Permission.objects.get(codename="see_bodies")


def change(browser: Browser, user: User, **fields: object) -> int:
    kept = {"username": user.username, "is_active": "on", "date_joined_0": "2030-01-31", "date_joined_1": "12:00:00"}
    return browser.post(f"{USERS}{user.pk}/change/", {**kept, **fields}).status_code


def test_staff_cannot_give_themselves_rights(manager: Browser, see_bodies: Permission) -> None:
    me, group = User.objects.get(username="staff"), Group.objects.create(name="all")
    group.permissions.add(see_bodies)
    rights = {"is_staff": "on", "is_superuser": "on", "user_permissions": [see_bodies.pk], "groups": [group.pk]}
    assert change(manager, me, email="me@example.org", **rights) == 302
    me = User.objects.get(username="staff")
    assert me.email == "me@example.org", "the rest was changed"
    assert not (me.is_superuser or me.has_perm("console.see_bodies") or me.groups.exists())
    mine = Group.objects.create(name="mine")
    me.groups.add(mine)
    wish = {"name": "ours", "permissions": [see_bodies.pk]}
    assert manager.post(f"{GROUPS}{mine.pk}/change/", wish).status_code == 302
    assert [(group.name, group.permissions.count()) for group in me.groups.all()] == [("ours", 0)]


@pytest.mark.parametrize("has", ["is_superuser", "a permission"])
def test_staff_cannot_take_over_who_may_do_more(manager: Browser, see_bodies: Permission, has: str) -> None:
    strong = User.objects.create_user("boss", password="secret", is_staff=True, is_superuser=has == "is_superuser")
    if has == "a permission":
        strong.user_permissions.add(see_bodies)
    before = strong.password
    assert change(manager, strong, email="mine@example.org") == 403
    assert manager.post(f"{USERS}{strong.pk}/password/", PASSWORDS).status_code == 403
    assert manager.post(f"{USERS}{strong.pk}/delete/", {"post": "yes"}).status_code == 403
    manager.post(USERS, {"action": "delete_selected", "_selected_action": [strong.pk], "post": "yes"})
    strong.refresh_from_db()
    assert (strong.password, strong.email) == (before, "")


def test_staff_manage_who_may_do_less(manager: Browser) -> None:
    weak = User.objects.create_user("new", password="secret")
    before = weak.password
    assert manager.post(f"{USERS}{weak.pk}/password/", PASSWORDS).status_code == 302
    weak.refresh_from_db()
    assert weak.password != before
    manager.post(USERS, {"action": "delete_selected", "_selected_action": [weak.pk], "post": "yes"})
    assert not User.objects.filter(pk=weak.pk).exists()


def test_superusers_give_rights(see_bodies: Permission) -> None:
    browser = Browser()
    browser.force_login(User.objects.create_superuser("root"))
    person = User.objects.create_user("person")
    assert change(browser, person, is_staff="on", user_permissions=[see_bodies.pk]) == 302
    assert User.objects.get(pk=person.pk).has_perm("console.see_bodies")
