"""A client's name, and the messages that it holds, belong to whoever registered it first."""

import pytest

from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect
from tests.support.keys import make_key

PERMISSIONS = {"post", "fetch", "create"}


async def test_a_key_does_not_take_over_the_name_of_a_client_without_a_key(
    broker: Cluster, connect: Connect, client: Client, queue: str, name: str
) -> None:
    """It would get the claims of the client that it is not."""
    holder = await connect(hold=PATIENCE)
    await holder.register(name)
    await client.post(queue, "not for others")
    held = await holder.fetch(queue)
    await holder.close()
    for grants in ({}, {"*": PERMISSIONS}):
        stranger = await connect(headers=make_key(broker, grants).headers)
        label = await stranger.begin_registering(name)
        await stranger.expect(label, type="error", code="PermissionDenied", key=name)
        assert not stranger.unread()
    back = await connect()
    await back.register_when_free(name)
    await back.finish(held)


@pytest.mark.parametrize("stranger", ["anonymous", "another key"])
async def test_a_name_that_was_registered_with_a_key_belongs_to_the_owner_of_the_key(
    broker: Cluster, connect: Connect, name: str, stranger: str
) -> None:
    key = make_key(broker, {})
    first = await connect(headers=key.headers)
    await first.register(name)
    await first.close()
    headers = make_key(broker, {"*": PERMISSIONS}).headers if stranger == "another key" else {}
    other = await connect(headers=headers)
    label = await other.begin_registering(name)
    await other.expect(label, type="error", code="PermissionDenied", key=name)
    again = await connect(headers=key.headers)
    await again.register_when_free(name)


async def test_a_client_that_an_operator_made_belongs_to_the_first_who_registers_it(
    broker: Cluster, connect: Connect, client: Client, name: str
) -> None:
    broker.query("INSERT INTO clients_client (name, persistent) VALUES (%s, true)", name)
    first = await connect(headers=make_key(broker, {}).headers)
    await first.register(name)
    await first.close()
    await client.expect(await client.begin_registering(name), type="error", code="PermissionDenied", key=name)
