"""Requests in Django: so many at a time, callers by turns, and operators apart from clients."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from willow_site.known_callers import (
    FOUND,
    MOST_REMEMBERED,
    REMEMBERED_SECONDS,
    Caller,
    KnownCallers,
)
from willow_site.recognition import credential_of
from willow_site.request_slots import CLIENTS_SLOTS, OTHERS_SLOTS, SLOTS, RequestSlots, Slots


async def test_callers_take_turns() -> None:
    slots, served = Slots(1), list[str]()

    async def use(caller: str) -> None:
        async with slots.one(caller):
            served.append(caller)

    async with slots.one("first"):
        tasks = [asyncio.create_task(use(caller)) for caller in ("greedy", "greedy", "greedy", "modest")]
        await asyncio.sleep(0)
        assert served == []
    await asyncio.gather(*tasks)
    assert served == ["greedy", "modest", "greedy", "greedy"]


async def test_whoever_has_gone_leaves_its_slot_to_others() -> None:
    slots = Slots(1)
    async with slots.one("first"):
        gone = asyncio.create_task(_use(slots))
        waits = asyncio.create_task(_use(slots))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
    await waits
    await _use(slots)


async def _use(slots: Slots) -> None:
    async with slots.one("caller"):
        pass


async def test_operators_are_served_while_clients_keep_all_their_slots() -> None:
    let_go, served = asyncio.Event(), list[str]()

    async def application(scope: dict[str, Any], receive: object, send: object) -> None:
        if scope["path"].startswith("/api/messages/"):
            await let_go.wait()
        served.append(scope["path"])

    slots = RequestSlots(application, credential_of)

    def request(path: str) -> Any:
        return slots({"type": "http", "path": path, "client": ("10.0.0.1", 1)}, None, None)

    async with AsyncExitStack() as stack:
        clients = [asyncio.create_task(request("/api/messages/pop/")) for _ in range(CLIENTS_SLOTS + 5)]
        stack.push_async_callback(asyncio.gather, *clients)
        stack.callback(let_go.set)
        await asyncio.sleep(0)
        await request("/api/keys/")
        assert served == ["/api/keys/"]
    assert len(served) == CLIENTS_SLOTS + 6


def _shown(key: str) -> list[tuple[bytes, bytes]]:
    return [(b"authorization", f"Token {key}".encode())]


class Site:
    """Django, as far as slots see it: it knows its keys, and answers when it is let go."""

    def __init__(self) -> None:
        self.let_go, self.at_work = asyncio.Event(), list[str]()
        self.slots = RequestSlots(self._answer, credential_of)
        self._tasks = list[asyncio.Task[None]]()

    async def _answer(self, scope: dict[str, Any], receive: object, send: object) -> None:
        key = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Token ")
        if not scope["path"].startswith("/static/"):
            scope[FOUND].has_looked = True
            scope[FOUND].caller = {"client": Caller.CLIENT, "operator": Caller.OPERATOR}.get(key.split("-")[0])
        self.at_work.append(scope["path"])
        await self.let_go.wait()

    def ask(self, path: str, key: str, times: int = 1) -> None:
        for _ in range(times):
            scope = {"type": "http", "path": path, "headers": _shown(key), "client": ("10.0.0.1", 1)}
            self._tasks.append(asyncio.create_task(self.slots(scope, None, None)))

    async def answer_all(self) -> None:
        self.let_go.set()
        await asyncio.gather(*self._tasks)
        self.let_go.clear()
        self._tasks, self.at_work = [], []


async def known(*keys: str) -> Site:
    site = Site()
    for key in keys:
        site.ask("/api/queues", key)
    await site.answer_all()
    return site


@pytest.mark.parametrize("path", ["/api/messages", "/api/messages/", "/api/messages/pop", "/status/x"])
async def test_clients_never_take_the_slots_of_operators(path: str) -> None:
    site = await known("operator")
    site.ask("/static/a-file", "operator")
    await site.answer_all()
    site.ask(path, "new", SLOTS)
    site.ask("/nowhere", "new", SLOTS)
    await asyncio.sleep(0)
    assert len(site.at_work) == CLIENTS_SLOTS + OTHERS_SLOTS
    site.ask("/api/keys/", "operator")
    await asyncio.sleep(0)
    assert site.at_work[-1] == "/api/keys/"
    await site.answer_all()


async def test_a_key_of_a_client_is_a_clients_on_every_path() -> None:
    site = await known("client")
    site.ask("/api/keys", "client", SLOTS)
    await asyncio.sleep(0)
    assert len(site.at_work) == CLIENTS_SLOTS
    await site.answer_all()


async def test_good_keys_of_one_address_take_turns_and_invented_ones_do_not() -> None:
    site = await known("client-a", "client-b")
    site.ask("/api/messages", "client-a", CLIENTS_SLOTS + 2)
    for number in range(3):
        site.ask(f"/api/messages/invented-{number}", f"invented-{number}")
    site.ask("/api/messages/b", "client-b")
    await asyncio.sleep(0)
    served = site.at_work
    await site.answer_all()
    rest = ["/api/messages", "/api/messages/invented-0", "/api/messages/b", "/api/messages", "/api/messages/invented-1"]
    assert served[CLIENTS_SLOTS : CLIENTS_SLOTS + 5] == rest


def test_callers_are_known_for_a_while() -> None:
    now = 0.0
    callers = KnownCallers(lambda: now)
    callers.learn(b"one", Caller.OPERATOR)
    callers.learn(b"ended", Caller.OPERATOR)
    callers.learn(b"ended", None)
    assert (callers.who(b"one"), callers.who(b"ended"), callers.who(None)) == (Caller.OPERATOR, None, None)
    now = REMEMBERED_SECONDS
    assert callers.who(b"one") is None
    for number in range(MOST_REMEMBERED + 1):
        callers.learn(str(number).encode(), Caller.CLIENT)
    assert (callers.who(b"0"), callers.who(b"1")) == (None, Caller.CLIENT)


def test_what_a_request_shows() -> None:
    def shown(query: bytes = b"", **headers: bytes) -> bytes | None:
        return credential_of({"query_string": query, "headers": [(k.encode(), v) for k, v in headers.items()]})

    assert shown() is shown(cookie=b"csrftoken=x") is shown(authorization=b"Basic x") is None
    assert shown(authorization=b"Token a") == shown(b"token=a") != shown(authorization=b"Token b")
    login = shown(cookie=b"csrftoken=x; sessionid=s")
    assert login == shown(cookie=b"sessionid=s") != shown(cookie=b"sessionid=s", authorization=b"Token a")
    assert login is not None
