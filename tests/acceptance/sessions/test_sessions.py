"""Section 6 of the protocol on one node: disconnects, `hold`, and coming back with an id."""

import socket
import struct

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster


async def test_a_disconnect_fails_all_that_the_client_held_at_once(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    await client.create(queue, retry_delay=0)
    label = await client.begin("post", queue, message="1", notify=["retry"])
    shard = (await client.post(queue, "2"))["shard"]
    await other.fetch_all(queue, 2)
    await other.close()
    await client.expect(label, notice="retry")
    messages = [await client.fetch(queue, block_timeout=30) for _ in range(2)]
    assert sorted((message["body"], message["attempt"]) for message in messages) == [("1", 2), ("2", 2)]
    reasons = broker.query("SELECT outcome, reason FROM delivery_journal WHERE queue_id = %s", shard)
    assert reasons == [("retried", "disconnected")] * 2


async def test_a_connection_that_breaks_off_is_a_disconnect(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    await other.fetch(queue)
    other.socket.transport.abort()
    assert (await client.fetch(queue, block_timeout=30))["attempt"] == 2


async def test_a_connection_that_is_reset_with_something_unread_is_a_disconnect(
    client: Client, connect: Connect, queue: str
) -> None:
    """As the system does it for a client that is killed while it sends."""
    await client.create(queue, retry_delay=0)
    for _ in range(5):
        await client.post(queue, "m")
        reader = await connect()
        await reader.fetch(queue)
        transport, most = reader.socket.transport, 1_000_000
        at_once = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        transport.write(struct.pack("!BBQ4s", 0x81, 0xFF, most, b"mask") + bytes(most))
        transport.abort()
        message = await client.fetch(queue, block_timeout=15)
        assert message["attempt"] == 2
        await client.finish(message)


async def test_a_client_that_answers_no_pings_is_disconnected(
    start_cluster: StartCluster, connect: Connect, queue: str
) -> None:
    with start_cluster(WILLOW_PING_SECONDS="1", WILLOW_PING_TIMEOUT="5") as cluster:
        client, silent = await connect(cluster.node), await connect(cluster.node)
        await client.create(queue, retry_delay=0)
        await client.post(queue, "m")
        await silent.fetch(queue)
        silent.socket.transport.pause_reading()
        assert (await client.fetch(queue, block_timeout=30))["attempt"] == 2
        silent.socket.transport.abort()
        await client.close()


async def test_an_id_that_cannot_be_anybodys_is_answered_by_a_new_one_and_harms_nobody(
    client: Client, connect: Connect, queue: str
) -> None:
    for strange in ("\0", "a\0b", "zwölf", "x" * 5000):
        newcomer = await connect(id=strange)
        assert newcomer.greeting["type"] == "hello"
        assert newcomer.id != strange
        await client.post(queue, "m")


async def test_a_disconnected_reader_takes_nothing_with_it(
    broker: Cluster, connect: Connect, client: Client, other: Client, queue: str
) -> None:
    """Its pop is still on the way to the storage when it goes."""
    for name in (queue, f"{queue}-busy"):
        await client.finds_nothing(name)
    with broker.readers_held_up():
        await client.begin("fetch", f"{queue}-busy")  # the pop will wait behind it
        await client.heard_everything()
        await other.begin("pop", queue)
        await other.heard_everything()
        await other.close()
        await client.post(queue, "m")
    third = await connect()
    assert (await third.fetch(queue, block_timeout=30))["body"] == "m"


# coming back


async def test_an_id_can_be_taken_up_again(client: Client, connect: Connect) -> None:
    await client.close()
    again = await connect(id=client.id)
    assert again.id == client.id


async def test_an_unknown_id_gets_a_new_one(connect: Connect) -> None:
    client = await connect(id="nobody-knows-me")
    assert client.id not in ("", "nobody-knows-me")


async def test_a_client_that_left_without_hold_comes_back_to_nothing(
    client: Client, connect: Connect, queue: str
) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    message = await client.fetch(queue)
    await client.close()
    again = await connect(id=client.id)
    assert (await again.fetch(queue, block_timeout=30))["attempt"] == 2
    assert message["attempt"] == 1


async def test_with_hold_a_client_comes_back_to_its_claims(client: Client, connect: Connect, queue: str) -> None:
    holder = await connect(hold=30)
    await client.post(queue, "m")
    message = await holder.fetch(queue)
    await holder.close()
    await client.finds_nothing(queue)
    again = await connect(id=holder.id, hold=30)
    await client.finds_nothing(queue)
    await again.finish(message)


async def test_the_time_of_claims_starts_again_when_their_client_comes_back(
    broker: Cluster, client: Client, connect: Connect, queue: str
) -> None:
    """Its node may have died, and with it every way to keep them alive."""
    holder = await connect(hold=30)
    shard = (await client.post(queue, "m"))["shard"]
    await holder.fetch(queue, work_timeout=1000)
    broker.query("UPDATE delivery_message SET lease_until = now() + interval '60 s' WHERE queue_id = %s", shard)
    await holder.close()
    await connect(id=holder.id)
    remaining = "SELECT extract(epoch FROM lease_until - now())::float FROM delivery_message WHERE queue_id = %s"
    assert broker.query(remaining, shard)[0][0] == pytest.approx(1000, abs=30)


async def test_a_client_that_came_back_without_hold_loses_its_claims_when_it_leaves(
    client: Client, connect: Connect, queue: str
) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    holder = await connect(hold=30)
    await holder.fetch(queue)
    await holder.close()
    again = await connect(id=holder.id)
    await again.close()
    assert (await client.fetch(queue, block_timeout=30))["attempt"] == 2


async def test_claims_fail_when_the_hold_is_over(broker: Cluster, client: Client, connect: Connect, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    shard = (await client.post(queue, "m"))["shard"]
    holder = await connect(hold=0.3)
    await holder.fetch(queue)
    await holder.close()
    assert (await client.fetch(queue, block_timeout=30))["attempt"] == 2
    reasons = broker.query("SELECT reason FROM delivery_journal WHERE queue_id = %s", shard)
    assert reasons == [("disconnected",)]


async def test_a_hold_is_capped(broker: Cluster, connect: Connect) -> None:
    client = await connect(hold=10**9)
    held = broker.query("SELECT hold_seconds FROM clients_session WHERE token = %s", client.id)
    assert held == [(3600,)]  # WILLOW_HOLD_MAX by default


@pytest.mark.parametrize("hold", ["-1", "nan", "soon"])
async def test_a_hold_that_is_no_number_of_seconds_is_refused(connect: Connect, hold: str) -> None:
    client = await connect(hold=hold)
    assert (client.greeting["code"], client.greeting["key"]) == ("BadRequest", "hold")
    await client.closed_by_broker()


async def test_an_id_has_one_live_socket(broker: Cluster, client: Client, connect: Connect, queue: str) -> None:
    second = await connect(id=client.id)
    assert (second.greeting["code"], second.greeting["key"]) == ("PermissionDenied", broker.node.name)
    await second.closed_by_broker()
    await client.post(queue, "m")
    await client.finish(await client.fetch(queue))


async def test_a_poster_that_comes_back_hears_what_happened_meanwhile(
    client: Client, connect: Connect, queue: str
) -> None:
    poster = await connect(hold=30)
    label = await poster.begin("post", queue, message="m", notify=["sync", "assign", "finish"])
    await poster.expect(label, notice="sync")
    await poster.close()
    await client.finish(await client.fetch(queue), reply="done")
    again = await connect(id=poster.id)
    await again.expect(label, notice="assign")
    await again.expect(label, notice="finish", reply="done")


async def test_a_client_that_comes_back_can_ask_for_what_it_holds(client: Client, connect: Connect, queue: str) -> None:
    """What was sent on a socket that broke may never have arrived."""
    await client.post_all(queue, ["1", "2"])
    reader = await connect(hold=30)
    held = await reader.fetch_all(queue, 2)
    await reader.close()
    back = await connect(id=reader.id, resend="true")
    again = [await back.expect(None, type="message") for _ in held]
    assert [(frame["body"], frame["index"], frame["attempt"]) for frame in again] == [("1", 1, 1), ("2", 2, 1)]
    for message in held:
        await back.finish(message)


@pytest.mark.parametrize("resend", ["false", "true"])
async def test_what_a_client_still_holds_when_it_comes_back_takes_up_places_of_its_subscription(
    client: Client, connect: Connect, queue: str, resend: str
) -> None:
    await client.post_all(queue, ["1", "2", "3"])
    reader = await connect(hold=30)
    (held,) = await reader.messages(await reader.subscribe(queue, in_flight=1), 1)
    await reader.close()
    back = await connect(id=reader.id, hold=30, resend=resend)
    label = await back.subscribe(queue, in_flight=1)
    left = await client.fetch_all(queue, 2)
    assert [message["body"] for message in left] == ["2", "3"]
    if resend == "true":
        await back.expect(None, type="message", body="1")
    await client.post_all(queue, ["4", "5"])
    await back.finish(held)
    await back.expect(label, type="message", body="4")
    assert (await client.fetch(queue))["body"] == "5"
