"""Operators close sessions and take away what they hold."""

import pytest
from django.core.exceptions import ValidationError

from clients.models import Session
from delivery.models import Journal
from delivery.operating.sessions import session_disconnect, session_fail_messages
from delivery.protocol.close_codes import CLOSED_BY_OPERATOR
from tests.acceptance.operating.conftest import Act
from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect
from tests.support.operators import OPERATOR, Operators
from willow_site.processes import wait_until


def number_of(client: Client) -> int:
    return Session.objects.get(token=client.id).pk


async def test_a_disconnected_session_loses_its_socket_and_what_it_holds(
    act: Act, connect: Connect, client: Client, queue: str
) -> None:
    holding = await connect(hold=60)
    await client.post(queue, "m")
    await holding.fetch(queue)
    tally = await act(session_disconnect, session_id=await act(number_of, holding), by=OPERATOR)
    assert tally.done == 1
    assert await holding.closed_by_broker() == CLOSED_BY_OPERATOR
    assert (await client.fetch(queue, block_timeout=30))["attempt"] == 2


async def test_it_is_closed_on_whichever_node_it_is(
    operators: Operators, three_nodes: Cluster, connect: Connect
) -> None:
    for node in three_nodes.nodes:
        client = await connect(node)
        session_id = await operators.on(three_nodes, number_of, client)
        await operators.on(three_nodes, session_disconnect, session_id=session_id, by=OPERATOR)
        assert await client.closed_by_broker() == CLOSED_BY_OPERATOR


async def test_a_held_session_ends_at_once(act: Act, connect: Connect, client: Client, queue: str) -> None:
    away = await connect(hold=3600)
    await client.post(queue, "m")
    await away.fetch(queue)
    session_id = await act(number_of, away)
    await away.close()
    fetching = await client.begin("fetch", queue, block_timeout=30)
    await act(wait_until_held, session_id)
    assert (await act(session_disconnect, session_id=session_id, by=OPERATOR)).done == 1
    await client.expect(fetching, type="message", attempt=2)
    with pytest.raises(ValidationError, match="has ended"):
        await act(session_disconnect, session_id=session_id, by=OPERATOR)


def wait_until_held(session_id: int) -> None:
    assert wait_until(lambda: Session.objects.filter(pk=session_id, held_until__isnull=False).exists(), PATIENCE)


async def test_failing_its_messages_frees_the_places_of_its_subscription(
    act: Act, client: Client, other: Client, queue: str
) -> None:
    label = await client.subscribe(queue, in_flight=1)
    await other.post_all(queue, ["a", "b"])
    [first] = await client.messages(label, 1)
    tally = await act(session_fail_messages, session_id=await act(number_of, client), by=OPERATOR)
    assert tally.done == 1
    [second] = await client.messages(label, 1)  # its one place is free again, though it never finished
    assert (second["index"], second["attempt"]) != (first["index"], first["attempt"])

    def reasons() -> list[str | None]:
        return list(Journal.objects.filter(queue_id=first["shard"]).values_list("reason", flat=True))

    assert await act(reasons) == ["operator"]
