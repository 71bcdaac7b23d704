"""How queues come to be."""

from tests.support.client import Client

DEFAULTS = {
    "kind": "work",
    "retry_limit": 3,
    "heartbeat_timeout": 300,
    "max_length": None,
    "overflow": "reject",
    "updatable": False,
    "paused": False,
}


async def test_a_created_queue_has_the_default_settings(client: Client, queue: str) -> None:
    label = await client.begin("create", queue)
    frame = await client.expect(label, type="queue", name=queue, tags=[], created=True, **DEFAULTS)
    assert frame["shard"] >= 1


async def test_a_created_queue_has_the_settings_that_were_chosen(client: Client, queue: str) -> None:
    chosen = {
        "kind": "stream",
        "retry_limit": 0,
        "heartbeat_timeout": 0.5,
        "retry_delay": 2.5,
        "retry_backoff": 1.5,
        "max_length": 2**40,
        "overflow": "drop_oldest",
        "updatable": True,
    }
    label = await client.begin("create", queue, **chosen)
    await client.expect(label, type="queue", created=True, **chosen)


async def test_a_queue_comes_to_be_by_its_first_use(client: Client, queue: str) -> None:
    await client.post(f"{queue}-posted", "m")
    await client.finds_nothing(f"{queue}-fetched")
    await client.expect(await client.begin("pop", f"{queue}-popped"), type="nomessage")
    for use in ("posted", "fetched", "popped"):
        assert (await client.create(f"{queue}-{use}"))["created"] is False
