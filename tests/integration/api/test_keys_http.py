"""Who may ask over HTTP, and the shape of what the others are told."""

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.test import Client as Browser

from api import status as apis
from clients.services import key_create
from queues.services import queue_create

pytestmark = pytest.mark.django_db

HERE, ELSEWHERE = "127.0.0.1", "203.0.113.9"


@pytest.fixture
def browser() -> Browser:
    queue_create(name="orders")
    return Browser()


def let_in(settings: Any, rule: str) -> None:
    settings.WILLOW = replace(settings.WILLOW, anonymous=rule)


def error(code: str, key: str, message: str) -> dict[str, Any]:
    return {"type": "error", "label": None, "code": code, "key": key, "message": message}


@pytest.mark.parametrize(
    ("rule", "address", "headers", "status"),
    [
        ("loopback", HERE, {}, 200),
        ("loopback", "::1", {}, 200),
        ("loopback", "::ffff:127.0.0.1", {}, 200),
        ("loopback", ELSEWHERE, {}, 401),
        ("loopback", "", {}, 401),
        ("loopback", HERE, {"X-Forwarded-For": HERE}, 401),
        ("loopback", HERE, {"Forwarded": "for=127.0.0.1"}, 401),
        ("all", ELSEWHERE, {"X-Forwarded-For": ELSEWHERE}, 200),
        ("none", HERE, {}, 401),
    ],
)
def test_without_a_key_the_rule_decides(
    browser: Browser, settings: Any, rule: str, address: str, headers: dict[str, str], status: int
) -> None:
    let_in(settings, rule)
    assert browser.get("/status/orders", REMOTE_ADDR=address, headers=headers).status_code == status


def test_who_is_not_let_in_is_told_in_the_shape_of_the_protocol(browser: Browser) -> None:
    answer = browser.get("/status/orders", REMOTE_ADDR=ELSEWHERE)
    assert answer.json() == error("PermissionDenied", "token", "A valid key is needed.")
    assert answer.headers["WWW-Authenticate"] == "Token"


@pytest.mark.parametrize("rule", ["all", "none"])
@pytest.mark.parametrize("how", ["header", "lower case header", "argument"])
def test_a_key_is_taken_from_anywhere(browser: Browser, settings: Any, rule: str, how: str) -> None:
    let_in(settings, rule)
    key = key_create(client_name="c", grants={"orders": frozenset({"post"})}).secret
    asked = {
        "header": {"headers": {"Authorization": f"Token {key}"}},
        "lower case header": {"headers": {"Authorization": f"token {key}"}},
        "argument": {"query_params": {"token": key}},
    }[how]
    assert browser.get("/status/orders", REMOTE_ADDR=ELSEWHERE, **asked).status_code == 200


def test_a_wrong_key_is_refused_even_where_none_is_needed(browser: Browser, settings: Any) -> None:
    let_in(settings, "all")
    answer = browser.get("/status/orders", headers={"Authorization": "Token wk_wrong"})
    assert (answer.status_code, answer.json()["message"]) == (401, "This key is not valid.")


def test_a_key_without_a_grant_on_the_queue_is_told_which_queue(browser: Browser) -> None:
    key = key_create(client_name="c", grants={"invoices": frozenset({"admin"})}).secret
    answer = browser.get("/status/orders", {"token": key})
    assert answer.status_code == 403
    assert answer.json() == error("PermissionDenied", "orders", "Your key grants nothing on orders.")


@pytest.mark.parametrize(("staff", "status"), [(True, 200), (False, 401)])
def test_a_staff_login_is_as_good_as_a_key(browser: Browser, settings: Any, staff: bool, status: int) -> None:
    let_in(settings, "none")
    browser.force_login(get_user_model().objects.create_user("somebody", is_staff=staff))
    assert browser.get("/status/orders").status_code == status


def test_what_the_address_does_not_do_is_told_in_the_same_shape(browser: Browser) -> None:
    answer = browser.post("/status/orders")
    assert (answer.status_code, answer.json()["type"], answer.json()["code"]) == (405, "error", "BadRequest")


def test_a_storage_that_is_gone_is_told_in_the_same_shape(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(name: str) -> None:
        raise OperationalError

    monkeypatch.setattr(apis, "status_of", gone)
    answer = browser.get("/status/orders")
    assert (answer.status_code, answer.json()["code"]) == (503, "Unavailable")
