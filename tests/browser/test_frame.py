"""Around every screen: getting in and out, by keyboard, on a phone, and what changes by itself."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.looking import GRAVE, PHONE
from tests.browser.programs import Programs
from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster


@pytest.fixture
def client(programs: Programs) -> Client:
    return programs.connect()


def test_nobody_sees_a_screen_without_logging_in(broker: Cluster, chromium: Browser) -> None:
    context = chromium.new_context(base_url=broker.node.http_url)
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    page.goto("/console/queues/")
    expect(page.get_by_label("Username")).to_be_visible()
    expect(page.locator(".screen")).to_have_count(0)
    context.close()


@pytest.mark.parametrize("address", ["/console/nodes/", "/admin/clients/key/", "/admin/delivery/serviceconfig/add/"])
def test_the_whole_page_is_accessible(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#content")).to_be_visible()
    found = Axe().run(page).response["violations"]
    grave = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found if one["impact"] in GRAVE]
    assert not grave


def test_it_is_used_by_keyboard_alone(page: Page) -> None:
    page.goto("/console/nodes/")
    page.keyboard.press("Tab")
    while not page.evaluate("document.activeElement.matches('#nav-sidebar a[href=\"/console/reaper/\"]')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Reaper", level=1)).to_be_visible()
    page.get_by_role("button", name="Account and theme").press("Enter")
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


def test_the_navigation_opens_on_a_phone(page: Page) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto("/console/nodes/")
    link = page.get_by_role("link", name="Reaper")
    expect(link).to_be_hidden()
    page.get_by_role("button", name="Navigation", exact=True).press("Enter")
    expect(link).to_be_visible()
    link.click()
    expect(page.get_by_role("heading", name="Reaper", level=1)).to_be_visible()


def test_figures_change_by_themselves(page: Page, programs: Programs, client: Client, queue: str) -> None:
    programs.run(client.post(queue, "m"))
    page.goto(f"/console/queues/?search={queue}")
    ready = page.get_by_role("row", name=queue).locator("td[data-label=Ready]")
    expect(ready).to_have_text("1")
    pause = page.get_by_role("link", name=f"Pause {queue}")
    pause.focus()
    page.evaluate("window.isTheSamePage = true")
    programs.run(client.post_all(queue, ["m"] * 4))
    expect(ready).to_have_text("5")
    assert page.evaluate("window.isTheSamePage")
    expect(pause).to_be_focused()


def test_what_is_not_there_is_said_in_words(page: Page) -> None:
    page.goto("/console/queues/987654321/")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
