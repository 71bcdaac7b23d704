"""Requests in Django: so many at a time, callers by turns, and operators apart from clients."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from willow_site.request_slots import CLIENTS_SLOTS, RequestSlots, Slots


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

    slots = RequestSlots(application)

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
