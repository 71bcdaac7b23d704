"""A disk, or a standby, on which no flush ends: what need not be flushed goes on."""

from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect


async def test_claims_of_silent_clients_go_to_others(broker: Cluster, connect: Connect, queue: str) -> None:
    """Their nodes' heartbeats are seen, and the reaper goes through its duties."""
    silent, other = await connect(), await connect()
    await silent.post(queue, "m")
    with broker.flushes_held_up():
        await silent.fetch(queue, work_timeout=2)
        again = await other.fetch(queue, block_timeout=PATIENCE)
        assert again["attempt"] == 2
    await other.finish(again)
