"""The console's WebSocket: who is let in, what is pushed, and that it is read once for all who watch."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import Permission, User
from django.db import OperationalError, connections
from django.test import Client as Browser

from console.live import consumer
from console.live.feeds import feeds
from console.screens import nodes
from delivery.operating.permissions import May
from willow_site.asgi import application

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 30  # seconds


@pytest.fixture(autouse=True)
async def no_connection_is_left() -> AsyncIterator[None]:
    """The thread in which views read stays, and its connection would keep the database from being dropped."""
    yield
    await sync_to_async(connections.close_all)()


def _browser(is_staff: bool, may_look: bool) -> Browser:
    user = User.objects.create_user("somebody", is_staff=is_staff)
    if may_look:
        user.user_permissions.add(Permission.objects.get(codename="look"))
    browser = Browser()
    browser.force_login(user)
    return browser


async def logged_in(*, is_staff: bool = True, may_look: bool = True) -> Browser:
    return await database_sync_to_async(_browser)(is_staff, may_look)


def socket_of(browser: Browser | None) -> WebsocketCommunicator:
    cookies = browser.cookies.output(header="", sep=";") if browser else ""
    headers = [(b"cookie", cookies.encode()), (b"host", b"localhost"), (b"origin", b"http://localhost")]
    return WebsocketCommunicator(application, "/console/live/", headers=headers)


async def close_code(socket: WebsocketCommunicator) -> int:
    """Wait until the console closes the connection, and tell how."""
    while (output := await socket.receive_output(timeout=PATIENCE))["type"] != "websocket.close":
        pass
    await socket.disconnect()
    return output["code"]


async def watch(socket: WebsocketCommunicator, address: str) -> dict[str, Any]:
    connected, _ = await socket.connect()
    assert connected
    await socket.send_to(text_data=json.dumps({"watch": address}))
    return json.loads(await socket.receive_from(timeout=PATIENCE))


@pytest.mark.parametrize(("is_staff", "may_look"), [(False, True), (True, False)])
async def test_only_staff_who_may_look_are_let_in(is_staff: bool, may_look: bool) -> None:
    browser = await logged_in(is_staff=is_staff, may_look=may_look)
    socket = socket_of(browser)
    await socket.connect()
    assert await close_code(socket) == consumer.NOT_ALLOWED


async def test_nobody_comes_in_without_a_session() -> None:
    socket = socket_of(None)
    await socket.connect()
    assert await close_code(socket) == consumer.NOT_ALLOWED


async def test_a_page_is_sent_what_it_watches() -> None:
    socket = socket_of(await logged_in())
    news = await watch(socket, "/console/nodes/")
    assert news["state"] == "live"
    assert "No node has joined." in news["html"]
    await socket.disconnect()


@pytest.mark.parametrize("address", ["/console/audit/", "/console/nowhere/", "https://example.org/", "http://["])
async def test_what_does_not_change_cannot_be_watched(address: str) -> None:
    socket = socket_of(await logged_in())
    await socket.connect()
    await socket.send_to(text_data=json.dumps({"watch": address}))
    assert await close_code(socket) == consumer.BAD_REQUEST


async def test_what_one_may_not_see_cannot_be_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes.nodes, "may", May.SEE_AUDIT)
    socket = socket_of(await logged_in())
    await socket.connect()
    await socket.send_to(text_data=json.dumps({"watch": "/console/nodes/"}))
    assert await close_code(socket) == consumer.BAD_REQUEST


@pytest.mark.parametrize("text", ["nothing", "{", "[]", '{"watch": 7}', json.dumps({"watch": "/" + "x" * 3000})])
async def test_what_makes_no_sense_ends_the_connection(text: str) -> None:
    socket = socket_of(await logged_in())
    await socket.connect()
    await socket.send_to(text_data=text)
    assert await close_code(socket) == consumer.BAD_REQUEST


async def test_a_queue_that_is_gone_is_said_to_be() -> None:
    socket = socket_of(await logged_in())
    assert await watch(socket, "/console/queues/4711/") == {"state": "gone"}
    await socket.disconnect()


async def test_all_who_watch_share_one_feed_and_it_ends_with_the_last() -> None:
    browser = await logged_in()
    sockets = [socket_of(browser) for _ in range(3)]
    for socket in sockets:
        await watch(socket, "/console/reaper/")
    assert len(feeds) == 1
    for left, socket in enumerate(reversed(sockets), 1):
        assert len(feeds) == 1, left
        await socket.disconnect()
    assert len(feeds) == 0


async def test_what_cannot_be_read_is_said_and_told_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([OperationalError("gone")])

    def read(given: Any) -> dict[str, Any]:
        for failure in answers:
            raise failure
        return nodes.read_nodes(given)

    monkeypatch.setattr(nodes.nodes, "live", nodes.Part("console/parts/nodes.html", read, every=0.01))
    socket = socket_of(await logged_in())
    assert await watch(socket, "/console/nodes/") == {"state": "lost"}
    assert json.loads(await socket.receive_from(timeout=PATIENCE))["state"] == "live"
    await socket.disconnect()


async def test_who_has_logged_out_is_sent_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "CHECK_SECONDS", 0.05)
    browser = await logged_in()
    socket = socket_of(browser)
    await watch(socket, "/console/reaper/")
    await database_sync_to_async(browser.logout)()
    assert await close_code(socket) == consumer.NOT_ALLOWED
