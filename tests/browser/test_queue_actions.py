"""What operators do to queues, done in the console by mouse and by keyboard."""

import re
import uuid

import pytest
from playwright.sync_api import Page, expect

from delivery.moves.states import State
from tests.browser.looking import Looks
from tests.browser.programs import WHILE_SOMEBODY_CLICKS, Programs
from tests.support.client import Client
from tests.support.cluster import Cluster


@pytest.fixture
def client(programs: Programs) -> Client:
    return programs.connect()


def queue_page(page: Page, broker: Cluster, name: str) -> None:
    [[queue_id]] = broker.query("SELECT id FROM queues_queue WHERE name = %s", name)
    page.goto(f"/console/queues/{queue_id}/")


def column(broker: Cluster, name: str, setting: str) -> object:
    [row] = broker.query("SELECT to_jsonb(q) FROM queues_queue q WHERE name = %s", name)
    return row[0][setting]


def told(page: Page, sentence: str) -> None:
    expect(page.get_by_text(sentence)).to_be_visible()


def test_a_queue_is_made(page: Page, looks: Looks, broker: Cluster, queue: str) -> None:
    page.goto("/console/queues/")
    page.get_by_role("link", name="New queue").click()
    looks.good("queue-new")
    page.get_by_label("Name").fill(queue)
    page.get_by_label("Tags").fill("eu, express")
    page.get_by_label("Retry limit").fill("7")
    page.get_by_role("button", name="Create").click()
    told(page, f"The queue {queue} [eu, express] is there.")
    assert column(broker, queue, "tags") == ["eu", "express"]
    assert column(broker, queue, "retry_limit") == 7
    expect(page.get_by_role("row", name="retry_limit 7")).to_contain_text("set on the queue")


def test_what_is_wrong_stands_beside_its_field(page: Page, broker: Cluster, queue: str) -> None:
    page.goto("/console/queues/new/")
    page.get_by_label("Name").fill(queue)
    page.get_by_label("Retry backoff").fill("0.5")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".field", has=page.get_by_label("Retry backoff"))).to_contain_text("a factor from 1 to 100")
    assert not broker.query("SELECT FROM queues_queue WHERE name = %s", queue)


def test_settings_are_changed(page: Page, programs: Programs, client: Client, broker: Cluster, queue: str) -> None:
    programs.run(client.post(queue, "m"))
    queue_page(page, broker, queue)
    page.get_by_role("link", name="Settings", exact=True).click()
    page.get_by_label("Max length").fill("500")
    page.get_by_label("Keep bodies").check()
    page.get_by_role("button", name="Save").click()
    told(page, "Changed: max_length, keep_bodies.")
    assert (column(broker, queue, "max_length"), column(broker, queue, "keep_bodies")) == (500, True)


def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(
    page: Page, programs: Programs, client: Client, broker: Cluster, queue: str
) -> None:
    programs.run(client.post(queue, "m"))
    page.goto(f"/console/queues/?search={queue}")
    page.get_by_role("link", name=f"Pause {queue}").click()
    page.get_by_role("button", name="Pause").click()
    told(page, "is paused: posts are accepted, and no messages are handed out.")
    page.goto(f"/console/queues/?search={queue}")
    expect(page.get_by_role("row", name=queue)).to_contain_text("paused")
    label = programs.run(client.begin("fetch", queue, block_timeout=WHILE_SOMEBODY_CLICKS))
    queue_page(page, broker, queue)
    page.get_by_role("link", name="Resume").press("Enter")
    page.get_by_role("button", name="Resume").press("Enter")
    told(page, "hands out messages again.")
    assert programs.run(client.expect(label, type="message"))["body"] == "m"


def test_purging_asks_for_the_name(
    page: Page, looks: Looks, programs: Programs, client: Client, broker: Cluster, queue: str
) -> None:
    programs.run(client.post_all(queue, ["m"] * 20))
    programs.run(client.fetch(queue))
    queue_page(page, broker, queue)
    page.get_by_role("link", name="Purge").click()
    looks.good("queue-purge")
    page.get_by_label(re.compile("Type the queue's name")).fill("another")
    page.get_by_role("button", name="Purge").click()
    told(page, f"This must be exactly {queue}")
    page.get_by_label(re.compile("Type the queue's name")).fill(queue)
    page.get_by_role("button", name="Purge").click()
    told(page, f"Purged {queue}: 19 done")
    held = "SELECT state FROM delivery_message JOIN queues_queue q ON q.id = queue_id WHERE q.name = %s"
    assert broker.query(held, queue) == [(State.CLAIMED,)]


def test_an_empty_queue_is_deleted(page: Page, programs: Programs, client: Client, broker: Cluster, queue: str) -> None:
    programs.run(client.create(queue))
    queue_page(page, broker, queue)
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_text("The queue is empty.")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    told(page, f"{queue} is deleted.")
    assert not broker.query("SELECT FROM queues_queue WHERE name = %s", queue)


def test_a_queue_with_messages_is_deleted_only_in_words(
    page: Page, programs: Programs, client: Client, broker: Cluster, queue: str
) -> None:
    programs.run(client.post_all(queue, ["m"] * 3))
    programs.run(client.fetch(queue))
    queue_page(page, broker, queue)
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_text("The queue holds 3 messages.")).to_be_visible()
    page.get_by_label(re.compile("^Type")).fill("yes")
    page.get_by_role("button", name="Delete").click()
    assert broker.query("SELECT FROM queues_queue WHERE name = %s", queue)
    page.get_by_label(re.compile("^Type")).fill("delete with all messages")
    page.get_by_role("button", name="Delete").click()
    told(page, f"{queue} is deleted.")
    assert not broker.query("SELECT FROM queues_queue WHERE name = %s", queue)


def test_what_was_done_is_in_the_audit(
    page: Page, looks: Looks, programs: Programs, client: Client, broker: Cluster
) -> None:
    queue = f"audited-{uuid.uuid4().hex[:8]}"
    programs.run(client.post_all(queue, ["m"] * 4))
    queue_page(page, broker, queue)
    page.get_by_role("link", name="Pause").click()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("link", name="Purge").click()
    page.get_by_label(re.compile("Type the queue's name")).fill(queue)
    page.get_by_role("button", name="Purge").click()
    told(page, "4 done")
    page.goto("/console/audit/")
    page.get_by_label("Target").fill(queue)
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("row", name="purge queue")).to_contain_text("operator")
    expect(page.get_by_role("row", name="purge queue").get_by_role("cell", name="4", exact=True)).to_be_visible()
    expect(page.get_by_role("row", name="pause queue")).to_be_visible()
    page.goto("/console/audit/")
    looks.good("audit")
