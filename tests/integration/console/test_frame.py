"""Around every screen of the console: who gets in, how long a query may take, and how a problem looks."""

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client as Browser
from django.urls import reverse

from clients.services import key_create
from console.navigation import ITEMS, RECORDS
from console.query_time import query_time
from queues.models import Tag
from tests.support.admin_login import logged_in_browser

pytestmark = pytest.mark.django_db

SCREEN_NAMES = [item.name for items in ITEMS.values() for item in items]


def staff(*codenames: str) -> Browser:
    user = User.objects.create_user("staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    browser = Browser()
    browser.force_login(user)
    return browser


def landmarks_in(page: str) -> int:
    """How many `<main>` a page has, each with its end behind it."""
    opened, closed = page.count("<main"), page.count("</main>")
    assert opened == closed and page.find("<main") < page.find("</main>")
    return opened


@pytest.mark.parametrize("name", SCREEN_NAMES)
def test_every_place_opens_for_an_operator(name: str) -> None:
    answer = logged_in_browser().get(reverse(name))
    assert answer.status_code == 200
    assert landmarks_in(answer.content.decode()) == 1


def test_every_page_of_the_admin_has_one_landmark_and_the_consoles_times() -> None:
    browser, key = logged_in_browser(), key_create(client_name="billing", grants={}).record
    tag = Tag.objects.create(name="eu")
    lists = [reverse(f"admin:{model}_changelist") for _, _, model, _ in RECORDS]
    forms = [reverse("admin:queues_tag_change", args=[tag.pk]), reverse("admin:clients_key_change", args=[key.pk])]
    others = [reverse("admin:clients_key_add"), reverse("admin:queues_tag_history", args=[tag.pk]), "/admin/"]
    for address in [*lists, *forms, *others, reverse("admin:clients_key_changelist")]:
        shown = browser.get(address, follow=True).content.decode()
        assert landmarks_in(shown) == 1, address
    assert f"{key.created_at:%Y-%m-%d %H:%M:%S} UTC" in shown


@pytest.mark.parametrize("name", SCREEN_NAMES)
def test_every_place_asks_others_to_log_in(name: str) -> None:
    answer = Browser().get(reverse(name))
    assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/admin/login/")


def test_staff_without_the_permission_are_told_so() -> None:
    answer = staff().get(reverse("console:overview"))
    assert answer.status_code == 403
    assert "console.look" in answer.content.decode()


@pytest.mark.parametrize(
    "address",
    ["clients/?name=", "sessions/?of=", "audit/?actor=", "dead-letters/?queue=", "dead-letters/list/?signature="],
)
def test_what_no_text_can_hold_is_refused(address: str) -> None:
    answer = logged_in_browser().get(f"/console/{address}a%00b")
    assert (answer.status_code, "NUL" in answer.content.decode()) == (400, True)


def test_the_sidebar_shows_only_where_one_may_go() -> None:
    page = staff("look").get(reverse("console:nodes")).content.decode()
    assert reverse("console:queues") in page
    assert reverse("console:audit") not in page
    assert reverse("admin:auth_user_changelist") not in page


def test_the_admin_begins_with_the_overview() -> None:
    answer = logged_in_browser().get("/admin/", follow=True)
    assert "console/overview.html" in [template.name for template in answer.templates]


def test_queries_of_a_page_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.screens.nodes.page", lambda *_, **__: _endless())
    monkeypatch.setattr("console.middleware.query_time", lambda: query_time(0.05))
    answer = logged_in_browser().get(reverse("console:nodes"))
    assert answer.status_code == 503
    assert "took too long" in answer.content.decode()


def _endless() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(60)")


def test_the_bound_ends_with_the_page() -> None:
    logged_in_browser().get(reverse("console:nodes"))
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


def test_an_error_of_ours_is_a_page_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the words of an exception")

    monkeypatch.setattr("console.screens.nodes.page", broken)
    answer = logged_in_browser().get(reverse("console:nodes"))
    assert answer.status_code == 500
    assert "the words of an exception" not in answer.content.decode()
    assert "went wrong" in answer.content.decode()


def test_an_unknown_address_is_a_page() -> None:
    answer = logged_in_browser().get("/admin/queues/queue/99/journal/")
    assert answer.status_code == 404
    assert "Not found" in answer.content.decode()
