"""Claims whose time ran out: whether their client's node could still have heard it decides what becomes of them."""

import asyncio
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from clients.models import Node, Session
from delivery.models import Message
from delivery.moves.states import State
from delivery.reaper.claims import fail_expired_claims
from delivery.reaper.loop import Reaper
from delivery.storage.connection import connect
from queues.services import queue_create


@pytest.mark.parametrize(
    ("claimed_for_beats", "beats_before_the_end", "fails"), [(100, 0.9, True), (100, 1.5, False), (1, 0.5, False)]
)
def test_the_node_has_to_be_heard_of_shortly_before_the_end(
    transactional_db: None, claimed_for_beats: float, beats_before_the_end: float, fails: bool
) -> None:
    """So it fails at once, and not only when the node is heard of again. A short claim has no such time to spare."""
    beat = settings.WILLOW.node_heartbeat
    claim_of_a_silent_client(claimed_for_beats * beat, timedelta(seconds=beats_before_the_end * beat))
    assert asyncio.run(fail_expired()) == fails
    assert (Message.objects.get().state == State.CLAIMED) is not fails


def claim_of_a_silent_client(work_timeout: float, node_silent_before_the_end: timedelta) -> None:
    ended = timezone.now() - timedelta(minutes=1)
    node = Node.objects.create(name="north", url="", heartbeat_at=ended - node_silent_before_the_end)
    Message.objects.create(
        queue_id=queue_create(name="work").pk,
        sequence=1,
        index=1,
        priority=0,
        body=b"m",
        state=State.CLAIMED,
        attempts=1,
        holder=Session.objects.create(token="t", node=node).pk,
        assigned_at=ended,
        work_timeout=work_timeout,
        lease_until=ended,
    )


async def fail_expired() -> int:
    async with await connect(application="test") as connection:
        return await fail_expired_claims(Reaper().tools(connection), None)
