"""Dead letters: grouped, redriven with a dry run, a rate, progress and undo; purged and exported."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.looking import Looks
from tests.browser.programs import Programs
from tests.support.client import Client
from tests.support.cluster import Cluster


@pytest.fixture
def worker(programs: Programs) -> Client:
    return programs.connect()


async def kill(worker: Client, queue: str, errors: list[str], **fields: object) -> None:
    """Messages that die of these errors, one each."""
    await worker.create(queue, retry_limit=1, retry_delay=0)
    bodies = [json.dumps({"order": number, "street": "Lindenallee"}) for number, _ in enumerate(errors)]
    await worker.post_all(queue, bodies)
    for error in errors:
        for message in await worker.fetch_all(queue, 1):
            await worker.fail(message, error=error)


def group(page: Page, queue: str, error: str) -> Locator:
    return page.get_by_role("row").filter(has_text=f"{queue}.dead").filter(has_text=error)


def waiting(broker: Cluster, queue: str) -> int:
    [[count]] = broker.query(
        "SELECT count(*) FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id WHERE q.name = %s", queue
    )
    return int(count)


def test_a_group_is_redriven_at_a_rate_and_brought_back(
    page: Page, looks: Looks, broker: Cluster, programs: Programs, worker: Client
) -> None:
    queue = "shop.payments"
    errors = [f"card declined: issuer {number} said no" for number in range(6)] + ["no such customer"] * 2
    programs.run(worker.register("payment-worker"))
    programs.run(kill(worker, queue, errors))
    page.goto("/console/dead-letters/")
    expect(group(page, queue, "card declined: issuer # said no")).to_contain_text("6")
    looks.good("dead-letters")

    group(page, queue, "card declined").get_by_role("link", name="Redrive").click()
    expect(page.locator("body")).to_contain_text(f"6 to {queue}")
    page.get_by_label("Messages a second, at most").fill("2")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_label("Messages a second, at most")).to_have_value("2")
    looks.good("redrive-dry-run")
    assert waiting(broker, queue) == 0
    page.get_by_role("button", name="Start the redrive").click()
    expect(page.locator(".live-mark")).to_have_text("Live")
    looks.good("redrive")
    expect(page.locator(".screen .badge")).to_have_text("done")
    expect(page.locator(".stat").filter(has_text="Moved")).to_contain_text("6")
    assert waiting(broker, queue) == 6

    taken = programs.run(worker.fetch(queue))
    page.get_by_role("link", name="Undo").click()
    page.get_by_role("button", name="Undo the redrive").click()
    expect(page.locator(".screen .badge")).to_have_text("undone")
    expect(page.locator(".stat").filter(has_text="Brought back")).to_contain_text("5")
    programs.run(worker.finish(taken))
    assert (waiting(broker, queue), waiting(broker, f"{queue}.dead")) == (0, 7)


def test_a_redrive_is_cancelled(page: Page, broker: Cluster, programs: Programs, worker: Client, queue: str) -> None:
    programs.run(kill(worker, queue, ["out of stock"] * 3))
    page.goto(f"/console/dead-letters/?queue={queue}")
    group(page, queue, "out of stock").get_by_role("link", name="Redrive").click()
    page.get_by_label("Messages a second, at most").fill("0.01")
    page.get_by_role("button", name="Start the redrive").click()
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("button", name="Cancel the redrive").click()
    expect(page.locator(".screen .badge")).to_have_text("cancelled before its end")
    assert waiting(broker, f"{queue}.dead") > 0


def test_chosen_ones_are_redriven_to_another_queue(
    page: Page, looks: Looks, broker: Cluster, programs: Programs, worker: Client
) -> None:
    queue, target = "shop.addresses", "shop.addresses.by-hand"
    programs.run(worker.create(target))
    programs.run(kill(worker, queue, ["address unknown: no 7", "address unknown: no 8", "address unknown: no 9"]))
    page.goto(f"/console/dead-letters/?queue={queue}")
    page.get_by_role("link", name=f"{queue}.dead").click()
    looks.good("dead-letter-list")
    page.get_by_label("Choose message 2 of").check()
    page.get_by_label("Choose message 3 of").check()
    page.get_by_role("button", name="Redrive chosen").click()
    page.get_by_label("To the queue").fill(target)
    page.get_by_role("button", name="Start the redrive").click()
    expect(page.locator(".screen .badge")).to_have_text("done")
    assert (waiting(broker, target), waiting(broker, f"{queue}.dead")) == (2, 1)


def test_one_is_redriven_from_its_own_page(
    page: Page, broker: Cluster, programs: Programs, worker: Client, queue: str
) -> None:
    programs.run(kill(worker, queue, ["once"]))
    page.goto(f"/console/dead-letters/?queue={queue}")
    page.get_by_role("link", name=f"{queue}.dead").click()
    page.locator("table.messages tbody a").click()
    expect(page.locator(".timeline")).to_contain_text("once")
    page.get_by_role("link", name="Redrive").click()
    page.get_by_role("button", name="Start the redrive").click()
    expect(page.locator(".screen .badge")).to_have_text("done")
    assert waiting(broker, queue) == 1


def test_a_group_is_exported_and_purged(
    page: Page, broker: Cluster, programs: Programs, worker: Client, queue: str
) -> None:
    programs.run(kill(worker, queue, ["broken pipe", "broken pipe", "other"]))
    page.goto(f"/console/dead-letters/?queue={queue}")
    with page.expect_download() as download:
        group(page, queue, "broken pipe").get_by_role("link", name="Export").click()
    lines = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    assert [(line["error"], json.loads(line["body"])["order"]) for line in lines] == [
        ("broken pipe", 0),
        ("broken pipe", 1),
    ]
    group(page, queue, "broken pipe").get_by_role("link", name="Purge").click()
    page.get_by_label("Type purge to confirm").fill("purge it")
    page.get_by_role("button", name="Purge").click()
    expect(page.get_by_role("alert")).to_have_text("This must be the word purge.")
    page.get_by_label("Type purge to confirm").fill("purge")
    page.get_by_role("button", name="Purge").click()
    expect(page.get_by_text("2 done.")).to_be_visible()
    assert waiting(broker, f"{queue}.dead") == 1
    actions = broker.query("SELECT action FROM delivery_auditentry ORDER BY id DESC LIMIT 2")
    assert actions == [("drop messages",), ("export dead letters",)]
