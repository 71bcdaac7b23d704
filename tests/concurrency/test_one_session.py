"""Many connections that register as the same client at the same moment, on several nodes."""

import asyncio

from tests.support.cluster import Cluster
from tests.support.fixtures import Connect

ATTEMPTS = 100


async def test_of_a_hundred_attempts_one_becomes_the_client(four_nodes: Cluster, connect: Connect, name: str) -> None:
    clients = [await connect(four_nodes.nodes[number % 3]) for number in range(ATTEMPTS)]
    labels = await asyncio.gather(*(client.begin_registering(name) for client in clients))
    answers = [await client.next(label) for client, label in zip(clients, labels, strict=True)]
    [winner] = [number for number, answer in enumerate(answers) if answer["type"] == "registered"]
    refused = [answer for answer in answers if answer["type"] != "registered"]
    assert {(each["code"], each["key"]) for each in refused} == {("PermissionDenied", clients[winner].node)}
    await clients[winner].close()
    await clients[winner - 1].register_when_free(name)
