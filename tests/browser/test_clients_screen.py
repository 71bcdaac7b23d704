"""Clients and sessions: how they are doing, their keys, and how an operator ends them."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import Looks
from tests.browser.programs import WHILE_SOMEBODY_CLICKS, Programs
from tests.support.client import Client
from tests.support.cluster import Cluster


@pytest.fixture
def shipping(programs: Programs, name: str) -> Client:
    client = programs.connect()
    programs.run(client.register(name))
    return client


def open_client(page: Page, name: str) -> None:
    page.goto("/console/clients/")
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name=name).click()


def test_a_client_shows_what_it_reads_holds_and_has_still_to_read(page: Page, looks: Looks, programs: Programs) -> None:
    poster, reader = programs.connect(), programs.connect()
    programs.run(reader.register("parcel-service"))
    programs.run(poster.create("shop.events", kind="stream"))
    programs.run(poster.create("shop.parcels", tags=["eu"]))
    parcels = programs.run(reader.subscribe("shop.parcels", tags=["eu"], match="strict", in_flight=2))
    programs.run(reader.subscribe("shop.events", in_flight=3))
    programs.run(poster.post_all("shop.parcels", [f'{{"parcel": {number}}}' for number in range(4)], tags=["eu"]))
    programs.run(poster.post_all("shop.events", ["seen"] * 5))
    programs.run(reader.messages(parcels, 2))
    page.goto("/console/clients/")
    row = page.get_by_role("row").filter(has_text="parcel-service")
    expect(row).to_contain_text("persistent")
    expect(row).to_contain_text("node-0")
    looks.good("clients")
    row.get_by_role("link", name="parcel-service").click()
    progress = page.get_by_role("region", name="Progress")
    expect(progress.get_by_role("row").filter(has_text="shop.parcels")).to_contain_text("2")
    expect(progress.get_by_role("row").filter(has_text="shop.events").locator("td").last).to_have_text("5")
    looks.good("client")
    page.get_by_role("link", name="Which queues?").last.click()
    expect(page.get_by_role("row").filter(has_text="shop.parcels")).to_contain_text("yes")


def test_a_key_is_shown_once_and_lets_its_client_in(
    page: Page, looks: Looks, broker: Cluster, programs: Programs, queue: str, name: str
) -> None:
    page.goto("/console/clients/new/")
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Make the client").click()
    page.get_by_role("link", name="Make a key").click()
    page.get_by_label("Grants").fill(f"{queue}:post")
    page.get_by_role("button", name="Make the key").click()
    secret = page.get_by_label(f"Key of {name}").input_value()
    assert re.fullmatch(r"wk_\S{43}", secret)
    page.evaluate("document.querySelector('#id_secret').value = 'wk_this_key_is_not_in_the_picture'")
    looks.good("key")
    client = programs.connect(token=secret)
    programs.run(client.post(queue, "with a key"))
    label = programs.run(client.begin("fetch", queue))
    programs.run(client.expect(label, code="PermissionDenied"))

    page.get_by_role("link", name="Back to the client").click()
    expect(page.get_by_role("row").filter(has_text=secret[:12])).to_contain_text(f"{queue}: post")
    expect(page.locator("body")).not_to_contain_text(secret)
    page.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke the key").click()
    expect(page.get_by_role("row").filter(has_text=secret[:12])).to_contain_text("revoked")
    programs.run(client.closed_by_broker())
    actions = broker.query("SELECT action FROM delivery_auditentry WHERE target = %s ORDER BY id", name)
    assert actions == [("create client",), ("make key",), ("revoke key",)]


def test_what_a_client_holds_fails_and_goes_to_another(
    page: Page, programs: Programs, shipping: Client, queue: str, name: str
) -> None:
    other = programs.connect()
    programs.run(other.create(queue, retry_delay=0))
    programs.run(other.post(queue, "stuck"))
    programs.run(shipping.fetch(queue))
    waits = programs.run(other.begin_waiting("fetch", queue, block_timeout=WHILE_SOMEBODY_CLICKS))
    open_client(page, name)
    page.get_by_role("link", name="Fail its messages").click()
    expect(page.locator("body")).to_contain_text("It holds 1 message now.")
    page.get_by_role("button", name="Fail its messages").click()
    assert programs.run(other.expect(waits, type="message"))["attempt"] == 2
    expect(page.locator(".stat").filter(has_text="Outstanding")).to_contain_text("0")


def test_a_client_is_disconnected_and_then_deleted(page: Page, programs: Programs, shipping: Client, name: str) -> None:
    open_client(page, name)
    page.get_by_role("link", name="Disconnect").click()
    page.get_by_role("button", name="Disconnect").click()
    programs.run(shipping.closed_by_broker())
    expect(page.get_by_text(f"of {name}; messages that it held: 0.")).to_be_visible()
    open_client(page, name)
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete the client").click()
    expect(page.get_by_text(f"Deleted the client {name}.")).to_be_visible()


def test_a_session_without_a_client_is_disconnected(
    page: Page, looks: Looks, broker: Cluster, programs: Programs, queue: str
) -> None:
    stranger = programs.connect()
    programs.run(stranger.post(queue, "held"))
    programs.run(stranger.fetch(queue))
    [[number]] = broker.query("SELECT id FROM clients_session WHERE token = %s", stranger.id)
    page.goto("/console/sessions/")
    row = page.get_by_role("row").filter(has=page.get_by_role("cell", name=str(number), exact=True))
    expect(row).to_contain_text("anonymous")
    looks.good("sessions")
    row.get_by_role("link", name="Disconnect").click()
    page.get_by_role("button", name="Disconnect").click()
    programs.run(stranger.closed_by_broker())
    expect(page.get_by_text(f"Disconnected session {number}; messages that it held: 1.")).to_be_visible()


def test_tags_are_explained(page: Page, looks: Looks, programs: Programs) -> None:
    client = programs.connect()
    for tags in (["eu"], ["eu", "express"], ["us"], []):
        programs.run(client.create("shop.returns", tags=tags))
    page.goto("/console/tag-explainer/")
    page.get_by_label("Queue name").fill("shop.returns")
    page.get_by_label("Tags").fill("eu, express")
    page.get_by_label("Match").select_option("exact")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="1 of 4 queues matches")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="It lacks express.")).to_contain_text("no")
    looks.good("tag-explainer")
