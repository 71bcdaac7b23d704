"""Messages: searched, looked at, and acted upon, while programs post and read."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.brokers.client import Client
from tests.browser.looking import Looks
from tests.browser.programs import Programs


@pytest.fixture
def poster(programs: Programs) -> Client:
    return programs.connect()


def rows(page: Page):
    return page.locator("table.messages tbody tr")


def search(page: Page, **fields: str) -> None:
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " "), exact=True).fill(value)
    page.get_by_role("button", name="Search", exact=True).click()


def choose(page: Page, *indexes: int) -> None:
    for index in indexes:
        page.get_by_label(re.compile(f"^Choose message {index} of ")).check()


def test_messages_are_found_and_leafed_through(page: Page, looks: Looks, programs: Programs, poster: Client) -> None:
    queue = "orders"
    bodies = [f'{{"order": {number}, "customer": "c-{number % 7}", "total": {number * 3}.50}}' for number in range(120)]
    programs.run(poster.post_all(queue, bodies, tags=["eu", "express"]))
    programs.run(poster.post_all(queue, ["later"] * 3, tags=["eu", "express"], delay=3600))
    held = programs.run(poster.fetch_all(queue, 2, tags=["eu", "express"]))
    page.goto("/console/messages/")
    search(page, Queue="ord*", Tags="eu")
    expect(rows(page)).to_have_count(50)
    looks.good("messages")
    page.get_by_role("link", name="Next page").click()
    page.get_by_role("link", name="Next page").click()
    expect(rows(page)).to_have_count(23)
    page.get_by_role("link", name="Previous page").click()
    expect(rows(page)).to_have_count(50)
    page.get_by_label("State").select_option("claimed")
    search(page, Queue=queue)
    expect(rows(page)).to_have_count(len(held))
    page.get_by_label("State").select_option("any")
    search(page, Text_in_the_body='"order": 77,')
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text('"order": 77,')
