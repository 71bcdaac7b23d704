"""The screens about the broker as a whole, while a business runs on it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.business import Business, running_business
from tests.browser.looking import Looks
from tests.support.cluster import Cluster


@pytest.fixture(scope="module")
def business(broker: Cluster) -> Iterator[Business]:
    with running_business(broker.node.url) as business:
        yield business


def becomes_live(page: Page) -> None:
    expect(page.locator(".live-mark")).to_have_text("Live")


def stat(page: Page, name: str):
    return page.locator(".stat", has=page.get_by_text(name, exact=True)).locator("strong")


def test_services_show_their_line_of_workers(page: Page, looks: Looks, business: Business) -> None:
    page.goto("/console/services/")
    becomes_live(page)
    row = page.get_by_role("row", name="resize")
    expect(row).to_contain_text("of 3")
    looks.good("services")
    row.get_by_role("link", name="resize").click()
    becomes_live(page)
    for number in range(3):
        expect(page.get_by_role("row", name=f"resizer-{number}")).to_be_visible()
    looks.good("service")


def test_nodes_reaper_and_database_are_alive(page: Page, looks: Looks, business: Business) -> None:
    page.goto("/console/nodes/")
    becomes_live(page)
    expect(page.get_by_role("row", name="node-0")).to_contain_text("alive")
    looks.good("nodes")
    page.goto("/console/reaper/")
    becomes_live(page)
    expect(stat(page, "Active reaper")).to_have_text("working")
    expect(page.get_by_role("row", name="Fail expired claims")).to_contain_text("done")
    looks.good("reaper")
    page.goto("/console/database/")
    becomes_live(page)
    expect(page.get_by_role("row", name="delivery_message")).to_be_visible()
    looks.good("database")


def test_analysts_find_what_columns_mean(page: Page, looks: Looks, business: Business) -> None:
    page.goto("/console/analysts/")
    becomes_live(page)
    page.get_by_text("willow_journal_v1").click()
    expect(page.get_by_role("row", name="ended_at")).to_contain_text("When its life, or the attempt, ended.")
    looks.good("analysts")


def test_queues_are_listed_searched_and_sorted(page: Page, looks: Looks, business: Business) -> None:
    page.goto("/console/queues/")
    becomes_live(page)
    expect(page.get_by_role("row", name="emails")).to_contain_text("nobody consumes this")
    looks.good("queues")
    page.get_by_label("Name or tag").fill("eu")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("table.rows tbody tr").first).to_contain_text("orders")
    expect(page.get_by_role("row", name="emails")).to_have_count(0)
    page.goto("/console/queues/?only=stream")
    expect(page.locator("table.rows tbody tr")).to_have_count(1)


def test_a_queue_shows_rates_times_settings_and_who_reads_it(
    page: Page, looks: Looks, business: Business, broker: Cluster
) -> None:
    [[queue_id]] = broker.query("SELECT id FROM queues_queue WHERE name = 'orders' AND tags = '{eu}'")
    page.goto(f"/console/queues/{queue_id}/")
    becomes_live(page)
    expect(stat(page, "Finished")).not_to_have_text("0")
    expect(page.get_by_role("img", name="waiting, p50: now")).to_be_visible()
    expect(page.get_by_role("row", name="retry_delay 0.2 s")).to_contain_text("set on the queue")
    expect(page.get_by_role("row", name="heartbeat_timeout")).to_contain_text("default")
    expect(page.get_by_role("row", name="billing")).to_contain_text("It has eu.")
    looks.good("queue")
    page.get_by_role("link", name="7 days").click()
    expect(page.get_by_text("There are no facts of this time")).to_be_visible()


def test_the_overview_says_what_needs_a_look(page: Page, looks: Looks, business: Business) -> None:
    page.goto("/console/")
    becomes_live(page)
    light = page.get_by_role("region", name="Health")
    expect(light).to_contain_text("Nearly as many messages as allowed: imports")
    expect(light).to_contain_text("died within the hour")
    expect(page.get_by_role("row", name="emails")).to_contain_text("nobody consumes this")
    expect(stat(page, "Posted")).not_to_have_text("0")
    expect(stat(page, "Finished")).not_to_have_text("0")
    expect(page.get_by_role("img", name="Messages per minute")).to_be_visible()
    looks.good("overview")
