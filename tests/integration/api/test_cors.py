"""Which pages of other sites may call the REST API from a browser."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

OURS = "https://app.example.org"


@pytest.fixture
def browser(settings: Any) -> Client:
    settings.WILLOW = replace(settings.WILLOW, browser_origins=(OURS,))
    return Client()


def preflight(browser: Client, origin: str) -> Any:
    return browser.options("/api/queues", headers={"Origin": origin, "Access-Control-Request-Method": "POST"})


@pytest.mark.django_db
def test_a_page_of_an_allowed_site_may_ask_and_read(browser: Client) -> None:
    asked = preflight(browser, OURS)
    assert (asked.status_code, asked["Access-Control-Allow-Origin"]) == (204, OURS)
    assert {"Authorization", "If-None-Match"} <= set(asked["Access-Control-Allow-Headers"].split(", "))
    assert "DELETE" in asked["Access-Control-Allow-Methods"]
    answer = browser.get("/api/queues", headers={"Origin": OURS})
    assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (200, OURS)
    assert "Origin" in answer["Vary"]
    assert "Access-Control-Allow-Credentials" not in answer


@pytest.mark.django_db
def test_no_other_page_may(browser: Client) -> None:
    assert "Access-Control-Allow-Origin" not in preflight(browser, "https://app.example.org.evil.example")
    answer = browser.get("/api/queues", headers={"Origin": "https://elsewhere.example"})
    assert "Access-Control-Allow-Origin" not in answer


@pytest.mark.django_db
def test_without_the_setting_nobody_is_named(client: Client) -> None:
    assert "Access-Control-Allow-Origin" not in client.get("/api/queues", headers={"Origin": OURS})
