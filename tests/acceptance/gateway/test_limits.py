"""What a broker with narrow limits refuses, and that the connection goes on after each refusal."""

from collections.abc import Iterator

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster


@pytest.fixture(scope="module")
def narrow(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(
        WILLOW_AUTO_DEFINE="off",
        WILLOW_CONNECTION_COMMANDS="4",
        WILLOW_NODE_COMMANDS="12",
        WILLOW_MAX_BODY_BYTES="1024",
        WILLOW_MAX_FRAME_BYTES="4096",
    ) as cluster:
        yield cluster


@pytest.fixture
async def client(narrow: Cluster, connect: Connect) -> Client:
    return await connect(narrow.node)


@pytest.mark.parametrize("command", ["post", "fetch", "pop"])
async def test_an_unknown_queue_is_no_object_where_use_does_not_define(
    client: Client, queue: str, command: str
) -> None:
    fields = {"message": "m"} if command == "post" else {}
    label = await client.begin(command, queue, **fields)
    await client.expect(label, type="error", code="NoObject", key=queue)
    assert (await client.create(queue))["created"] is True
    await client.post(queue, "m")


async def test_a_post_to_several_queues_is_refused_if_one_is_unknown(client: Client, queue: str) -> None:
    await client.create(queue)
    label = await client.begin("post", [queue, f"{queue}-unknown"], message="m")
    await client.expect(label, type="error", code="NoObject", key=f"{queue}-unknown")
    await client.finds_nothing(queue)


async def test_a_body_over_the_limit_is_too_large(client: Client, queue: str) -> None:
    await client.create(queue)
    await client.post(queue, "x" * 1024)
    label = await client.begin("post", queue, message="x" * 1025)
    await client.expect(label, type="error", code="TooLarge", key="1024")
    assert len((await client.pop(queue))["body"]) == 1024


@pytest.mark.parametrize("size", [4097, 1_000_000])
async def test_a_frame_over_the_limit_is_too_large(client: Client, queue: str, size: int) -> None:
    for frame in ("x" * size, b"\0" * size):
        await client.socket.send(frame)
        await client.expect(None, type="error", code="TooLarge", key="4096")
    assert (await client.create(queue))["created"] is True


async def test_a_connection_may_only_have_so_many_waiting(client: Client, queue: str) -> None:
    await client.create(queue)
    waiting = [await client.begin("fetch", queue, block_timeout=30) for _ in range(4)]
    label = await client.begin("fetch", queue, block_timeout=30)
    await client.expect(label, type="error", code="Overloaded", key="connection")
    await client.post(queue, "m")
    await client.expect(waiting[0], type="message")


async def test_a_caller_may_only_have_so_many_waiting_at_a_node(
    narrow: Cluster, client: Client, connect: Connect, queue: str
) -> None:
    await client.create(queue)
    second = await connect(narrow.node)
    for reader in (client, second):
        for _ in range(3):
            await reader.begin("fetch", queue, block_timeout=30)
        await reader.heard_everything()
    label = await second.begin("fetch", queue, block_timeout=30)
    await second.expect(label, type="error", code="Overloaded", key="node")


async def test_more_commands_than_allowed_at_once_are_all_answered(client: Client, queue: str) -> None:
    """Beyond the limit the socket is not read for a while, and nothing is lost by that."""
    await client.create(queue)
    labels = [await client.begin("post", queue, message="m", notify=["sync"]) for _ in range(50)]
    for label in labels:
        await client.expect(label, notice="sync")
