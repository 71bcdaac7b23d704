"""Messages: searched, looked at, and acted upon, while programs post and read."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import Looks
from tests.browser.programs import WHILE_SOMEBODY_CLICKS, Programs
from tests.support.client import Client
from tests.support.cluster import Cluster


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
    queue = "sales.orders"
    bodies = [f'{{"order": {number}, "customer": "c-{number % 7}", "total": {number * 3}.50}}' for number in range(120)]
    programs.run(poster.post_all(queue, bodies, tags=["eu", "express"]))
    programs.run(poster.post_all(queue, ["later"] * 3, tags=["eu", "express"], delay=3600))
    held = programs.run(poster.fetch_all(queue, 2, tags=["eu", "express"]))
    page.goto("/console/messages/")
    search(page, Queue="sales.*", Tags="eu")
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


def confirm(page: Page, button: str) -> None:
    page.locator(".ask-page").get_by_role("button", name=button, exact=True).click()


def act(page: Page, button: str) -> None:
    page.locator(".choice-bar").get_by_role("button", name=button, exact=True).click()


def told(page: Page, sentence: str) -> None:
    expect(page.get_by_text(sentence)).to_be_visible()


def test_chosen_messages_are_retried_moved_reprioritised_and_dropped(
    page: Page, looks: Looks, programs: Programs, poster: Client, queue: str
) -> None:
    target = f"target-{queue}"
    programs.run(poster.create(target))
    programs.run(poster.post_all(queue, ["delayed"] * 2, delay=3600))
    programs.run(poster.post_all(queue, ["waiting"] * 4))
    waiting = programs.run(poster.begin_waiting("fetch", target, block_timeout=WHILE_SOMEBODY_CLICKS))
    page.goto(f"/console/messages/?queue={queue}")

    choose(page, 1, 3)
    expect(page.locator(".choice-bar")).to_contain_text("2 chosen")
    act(page, "Retry now")
    looks.good("messages-ask")
    confirm(page, "Retry now")
    told(page, "Retry now: 1 done; 1 skipped (1 ready).")

    choose(page, 4)
    act(page, "Change priority")
    page.get_by_label("New priority").fill("9")
    confirm(page, "Change priority")
    told(page, "Change priority: 1 done.")
    assert programs.run(poster.fetch(queue))["index"] == 4  # before the older ones

    choose(page, 3, 4)
    act(page, "Move")
    page.get_by_label("To the queue").fill(target)
    confirm(page, "Move")
    told(page, "Move: 1 done; 1 skipped (1 held by a client).")
    assert programs.run(poster.expect(waiting, type="message"))["body"] == "waiting"  # whoever waits there has it

    page.get_by_label("Choose all on this page").check()
    act(page, "Drop")
    confirm(page, "Drop")
    told(page, "Drop: 4 done; 1 skipped (1 held by a client).")
    expect(rows(page)).to_have_count(1)


def test_a_message_is_dropped_by_keyboard_alone(
    page: Page, broker: Cluster, programs: Programs, poster: Client, queue: str
) -> None:
    programs.run(poster.post(queue, "to be dropped"))
    page.goto(f"/console/messages/?queue={queue}")
    page.get_by_label("Choose message 1").focus()
    page.keyboard.press("Space")
    page.locator(".choice-bar").get_by_role("button", name="Drop").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/act/")
    page.get_by_role("button", name="Drop").focus()
    page.keyboard.press("Enter")
    told(page, "Drop: 1 done.")
    assert broker.query("SELECT action FROM delivery_auditentry WHERE target = %s", queue) == [("drop messages",)]


def test_a_message_shows_its_life_while_it_goes_on(
    page: Page, looks: Looks, programs: Programs, poster: Client
) -> None:
    queue = "shop.invoices"
    worker = programs.connect()
    programs.run(worker.register("invoice-printer"))
    body = '{"invoice": 4711, "customer": "Linden & Söhne", "lines": [{"item": "willow basket", "count": 2}]}'
    programs.run(poster.create(queue, retry_delay=3600))
    programs.run(poster.post(queue, body, tags=[], key="invoice-4711"))
    page.goto(f"/console/messages/?queue={queue}")
    rows(page).get_by_role("link", name="1", exact=True).click()
    expect(page.locator(".causes")).to_contain_text("No client is waiting for its messages.")
    expect(page.locator(".live-mark")).to_have_text("Live")
    held = programs.run(worker.fetch(queue))
    expect(page.locator(".causes")).to_contain_text("It is claimed by invoice-printer")
    programs.run(worker.fail(held, error="printer out of paper"))
    expect(page.locator(".causes")).to_contain_text("It is delayed until")
    expect(page.locator(".timeline")).to_contain_text("printer out of paper")
    expect(page.locator("pre")).to_contain_text('"invoice": 4711')
    looks.good("message")
    page.get_by_role("link", name="Hex").click()
    expect(page.locator("pre")).to_contain_text("00000000  7b 22 69 6e 76 6f 69 63")
    page.get_by_role("link", name="Retry now").click()
    confirm(page, "Retry now")
    expect(page.locator(".message-head .badge")).to_have_text("ready")
    programs.run(worker.finish(programs.run(worker.fetch(queue))))
    expect(page.locator(".message-head .badge")).to_have_text("finished")
    expect(page.locator(".timeline li").last).to_contain_text("Finished")


def test_a_message_is_posted_by_hand_changed_and_seen_in_progress(
    page: Page, looks: Looks, broker: Cluster, programs: Programs, poster: Client
) -> None:
    queue = "sales.by-hand"
    page.goto("/console/messages/")
    page.get_by_role("link", name="Post a message").click()
    page.get_by_label("Queue").fill(queue)
    page.get_by_label("Body").fill('{"order": 1}')
    looks.good("message-new")
    confirm(page, "Post")
    told(page, f"Posted message 1 to {queue}.")
    page.get_by_role("link", name="Change", exact=True).click()
    page.get_by_label("Body").fill('{"order": 2}')
    confirm(page, "Save")
    told(page, "Changed message 1.")
    message = programs.run(poster.fetch(queue))
    assert message["body"] == '{"order": 2}'
    page.goto("/console/work/")
    expect(page.get_by_role("row").filter(has_text=queue)).to_contain_text("none")
    looks.good("work")
    programs.run(poster.finish(message))
    expect(page.get_by_role("row").filter(has_text=queue)).to_have_count(0)
    actions = broker.query("SELECT action FROM delivery_auditentry WHERE target = 'sales.by-hand' ORDER BY id")
    assert [action for (action,) in actions] == ["post message", "change message"]
