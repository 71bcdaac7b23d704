"""Operators act on queues while clients are connected to the broker."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from delivery.operating import queues
from queues.models import Queue
from tests.acceptance.operating.chosen import queue_of
from tests.acceptance.operating.conftest import Act
from tests.support.client import Client
from tests.support.operators import OPERATOR


def to(shard: int, action: Callable[..., Any], **more: Any) -> Callable[[], Any]:
    return lambda: action(queue=queue_of(shard), by=OPERATOR, **more)


async def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(act: Act, client: Client, queue: str) -> None:
    shard = (await client.post(queue, "m"))["shard"]
    await act(to(shard, queues.queue_pause))
    fetching = await client.begin_waiting("fetch", queue, block_timeout=30)
    await act(to(shard, queues.queue_resume))
    await client.expect(fetching, type="message", body="m")


async def test_purging_leaves_what_clients_hold(act: Act, client: Client, queue: str) -> None:
    await client.post_all(queue, ["a", "b", "c"])
    held = await client.fetch(queue)
    tally = await act(to(held["shard"], queues.queue_purge))
    assert (tally.done, tally.skipped.total()) == (2, 1)
    await client.finds_nothing(queue)
    await client.finish(held)


async def test_only_an_empty_queue_is_deleted_unless_it_is_forced(act: Act, client: Client, queue: str) -> None:
    await client.post_all(queue, ["held", "waiting"])
    label = await client.subscribe(queue, in_flight=1)
    [held] = await client.messages(label, 1)
    with pytest.raises(ValidationError, match="holds messages"):
        await act(to(held["shard"], queues.queue_delete))
    tally = await act(to(held["shard"], queues.queue_delete, forced=True))
    assert (tally.done, tally.skipped.total()) == (2, 0)
    assert not await act(Queue.objects.filter(pk=held["shard"]).exists)
    finishing = await client.begin("finish", queue, shard=held["shard"], sequence=held["sequence"])
    await client.expect(finishing, code="NoObject")


async def test_a_queue_made_by_an_operator_joins_running_subscriptions(act: Act, client: Client, queue: str) -> None:
    label = await client.subscribe(queue, match="all")
    await act(queues.queue_create, name=queue, tags=["eu"], chosen={"retry_limit": 1}, by=OPERATOR)
    await client.post(queue, "m", tags=["eu"])
    await client.expect(label, type="message", tags=["eu"])
