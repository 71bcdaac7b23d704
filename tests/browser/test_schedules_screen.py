"""Schedules, as an operator makes, previews, runs, pauses, changes and deletes them."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from playwright.sync_api import Page, expect

from tests.browser.looking import Looks
from tests.browser.programs import Programs
from tests.support.cluster import PATIENCE


def told(page: Page, sentence: str) -> None:
    expect(page.get_by_text(sentence)).to_be_visible()


def fill(page: Page, **values: str) -> None:
    for label, value in values.items():
        page.get_by_label(label, exact=True).fill(value)


def test_the_life_of_a_schedule(page: Page, looks: Looks, programs: Programs, queue: str) -> None:
    client = programs.connect()
    name = f"report-{queue}"
    page.goto("/console/schedules/")
    page.get_by_role("link", name="New schedule").click()
    fill(page, Name=name, Queue=queue, Message="good morning", Cron="0 0 30 2 *")
    page.get_by_role("button", name="Preview").click()
    cron = page.locator(".field", has=page.get_by_label("Cron", exact=True))
    expect(cron.get_by_role("alert")).to_be_visible()  # that day never comes

    far_off = datetime.now(ZoneInfo("Europe/Vienna")) + timedelta(hours=12)  # or it would come due while we look
    page.get_by_label("Cron", exact=True).fill(f"30 {far_off.hour} * * *")
    page.get_by_label("Time zone").fill("Europe/Vienna")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("region", name="Next times").get_by_role("row")).to_have_count(6)  # with the heading
    looks.good("schedule-form")
    page.get_by_role("button", name="Save").click()
    told(page, f"The schedule {name} is saved.")
    expect(page.get_by_text("No runs yet")).to_be_visible()

    page.get_by_role("link", name="Run now").click()
    page.get_by_role("button", name="Run now").click()
    told(page, f"Posted message 1 to {queue}.")
    posted = programs.run(client.fetch(queue, block_timeout=PATIENCE))
    assert (posted["body"], posted["headers"]["willow-schedule"]) == ("good morning", name)
    expect(page.get_by_role("region", name="Last runs").get_by_role("row")).to_have_count(2)
    looks.good("schedule")

    page.get_by_role("link", name="Pause").click()
    page.get_by_role("button", name="Pause").click()
    told(page, f"{name} is paused.")
    page.get_by_role("link", name="Change").click()
    page.get_by_label("Message", exact=True).fill("good evening")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("good evening")).to_be_visible()

    page.goto(f"/console/schedules/?search={name}")
    row = page.get_by_role("row", name=name)
    expect(row).to_contain_text("paused")
    expect(row).to_contain_text("Europe/Vienna")
    looks.good("schedules")
    row.get_by_role("link", name=name).click()
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    told(page, f"{name} is deleted.")
