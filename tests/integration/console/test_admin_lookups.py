"""What the admin's lists may be asked for in their address: their filters, and nothing that tells secrets or fails."""

import pytest
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.auth.models import User
from django.test import Client as Browser
from django.test import RequestFactory

from clients.models import Node, Session
from clients.services import key_create
from tests.support.admin_login import logged_in_browser
from tests.support.console_staff import staff_browser

pytestmark = pytest.mark.django_db

OURS = ("queues", "clients", "delivery", "auth")
OUR_PAGES = {model: pages for model, pages in admin.site._registry.items() if model._meta.app_label in OURS}
NASTY = ("x", "9" * 40, "\0")
SUFFIXES = ("", "__exact", "__id__exact", "__startswith", "__in", "__range", "__isnull", "__isempty", "__regex")


def filters_of(pages: ModelAdmin) -> list[str]:
    return [entry if isinstance(entry, str) else entry[0] for entry in pages.list_filter]


def find(browser: Browser, address: str, **wish: str) -> bool:
    """Whether the list answers with the one row that there is."""
    answer = browser.get(address, wish, follow=True)
    assert answer.status_code in (200, 400), (address, wish)
    changelist = answer.context.get("cl") if answer.context else None
    return answer.status_code == 200 and not answer.redirect_chain and len(changelist.result_list) == 1


def test_no_secret_can_be_guessed_piece_by_piece() -> None:
    record = key_create(client_name="billing", grants={}).record
    node = Node.objects.create(name="north", url="ws://north/connect/")
    session = Session.objects.create(token="unguessable", node=node, key=record)
    user = User.objects.create_user("somebody", password="correct horse")
    browser = staff_browser("look", "view_session", "view_key", "view_user")
    for address, wish in (
        ("/admin/clients/session/", {"token__startswith": "ung"}),
        ("/admin/clients/session/", {"token": "unguessable"}),
        ("/admin/clients/session/", {"key__digest__startswith": record.digest[:4]}),
        ("/admin/clients/key/", {"digest__startswith": record.digest[:4]}),
        ("/admin/clients/key/", {"sessions__token__startswith": "ung"}),
        ("/admin/auth/user/", {"password__startswith": user.password[:10], "username": "somebody"}),
    ):
        assert not find(browser, address, **wish), (address, wish)
    assert find(browser, "/admin/clients/session/", node__id__exact=str(session.node_id)), "filters still filter"


def test_no_list_can_be_asked_for_more_than_its_filters() -> None:
    request = RequestFactory().get("/")
    request.user = User.objects.create_superuser("operator")
    for model, pages in OUR_PAGES.items():
        filters = filters_of(pages)
        for field in (*(field.name for field in model._meta.get_fields()), "pk"):
            for suffix in SUFFIXES:
                allowed = pages.lookup_allowed(f"{field}{suffix}", "x", request)
                assert not allowed or field in filters, (model, field, suffix)


def test_no_address_is_answered_by_a_failure() -> None:
    browser = logged_in_browser()
    browser.raise_request_exception = False
    for model, pages in OUR_PAGES.items():
        address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        wishes = [
            (f"{name}{suffix}", value) for name in filters_of(pages) for suffix in SUFFIXES for value in NASTY[:3]
        ]
        wishes += [(name, NASTY[0]) for name in ("pk", "q", "o", "p", "all", "e", "_popup", "_to_field", "id__range")]
        failed = [wish for wish in wishes if browser.get(address, dict([wish])).status_code >= 500]
        assert not failed, model
        pages_of_none = [f"{address}{value}/{page}/" for value in NASTY[:2] for page in ("change", "delete", "history")]
        assert not [page for page in pages_of_none if browser.get(page).status_code >= 500]
