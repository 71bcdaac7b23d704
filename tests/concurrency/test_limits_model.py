"""Groups, limits and unique texts held to a plain model, under random sequences of all that happens to messages.

Nodes and a reaper run for real; each example has a queue of its own. What happens is decided by Hypothesis; what must
come of it, by `Model`, which is a dictionary of messages and a few lines of rules.
"""

import asyncio
import os
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.support.client import LOOK_SECONDS, Client, Fields, connected
from tests.support.cluster import PATIENCE, Cluster, Node
from tests.support.fixtures import StartCluster

RETRY_LIMIT = 2
CLIENTS = 3
SHORT = settings(
    max_examples=5, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
LONG = settings(SHORT, max_examples=12, stateful_step_count=80, derandomize=False)  # about five minutes

AHEAD_OF_ALL = """
    SELECT (SELECT count(*) FROM delivery_message WHERE queue_id = %s AND lease_until IS NOT NULL),
           (SELECT count(*) FROM delivery_touchedgroup WHERE queue_id = %s)
"""
RUN_OUT = "UPDATE delivery_message SET lease_until = now() - interval '1 second' WHERE queue_id = %s AND index = %s"


@dataclass
class Expected:
    """One living message."""

    index: int
    body: str
    group: str | None
    unique: str | None
    priority: int
    attempts: int = 0
    holder: int | None = None  # which of the clients


@dataclass
class Model:
    max_in_flight: int | None
    group_in_flight: int | None
    living: dict[int, Expected] = field(default_factory=dict)
    paused: bool = False

    def claims(self, holder: int | None = None) -> list[Expected]:
        held = [one for one in self.living.values() if one.holder is not None]
        return [one for one in held if holder is None or one.holder == holder]

    def waiting(self) -> list[Expected]:
        """In the order of the queue."""
        free = [one for one in self.living.values() if one.holder is None]
        return sorted(free, key=lambda one: (-one.priority, one.index))

    def has_a_place(self, one: Expected) -> bool:
        """Held ones first, then those that were tried, then by priority and age."""
        if one.group is None or self.group_in_flight is None:
            return True
        members = [other for other in self.living.values() if other.group == one.group]
        members.sort(key=lambda other: (other.holder is None, other.attempts == 0, -other.priority, other.index))
        return one in members[: self.group_in_flight]

    def to_be_claimed(self, places: int) -> list[Expected]:
        if self.paused:
            return []
        if self.max_in_flight is not None:
            places = min(places, self.max_in_flight - len(self.claims()))
        return [one for one in self.waiting() if self.has_a_place(one)][: max(0, places)]

    def end_attempt(self, one: Expected) -> None:
        one.holder = None
        if one.attempts >= RETRY_LIMIT:
            del self.living[one.index]


class Machine(RuleBasedStateMachine):
    cluster: Cluster  # set by those who run it
    may_lose_nodes = False

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.queue = f"model-{uuid.uuid4().hex}"
        self.connections: list[Any] = []
        self.clients: list[Client] = []
        self.held: dict[int, Fields] = {}  # by index: the frame
        self.posters: dict[int, int] = {}  # by index: which of the clients
        self.numbers = 0

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def node_of(self, client: int) -> Node:
        return self.cluster.nodes[client % 2]

    @initialize(most=st.sampled_from([None, 1, 3]), of_group=st.sampled_from([None, 1, 2]))
    def begin(self, most: int | None, of_group: int | None) -> None:
        self.model = Model(most, of_group)
        for client in range(CLIENTS):
            self.do(self.connect(client))
        limits = {"max_in_flight": most, "group_in_flight": of_group}
        chosen = {name: value for name, value in limits.items() if value is not None}
        created = self.do(self.clients[0].create(self.queue, retry_limit=RETRY_LIMIT, retry_delay=0, **chosen))
        self.shard = created["shard"]

    async def connect(self, client: int) -> None:
        connection = connected(self.node_of(client).url)
        made = await connection.__aenter__()
        if client < len(self.clients):
            self.connections[client], self.clients[client] = connection, made
        else:
            self.connections.append(connection)
            self.clients.append(made)

    def settled(self) -> None:
        """Wait until what was done is done everywhere: claims as the model has them, and no group left to decide on."""

        async def wait() -> None:
            async with asyncio.timeout(PATIENCE):
                while self.cluster.query(AHEAD_OF_ALL, self.shard, self.shard) != [(len(self.model.claims()), 0)]:
                    await asyncio.sleep(LOOK_SECONDS)

        self.do(wait())

    @rule(
        client=st.integers(0, CLIENTS - 1),
        group=st.sampled_from([None, "a", "b"]),
        unique=st.sampled_from([None, None, "u", "v"]),
        priority=st.sampled_from([0, 0, 1]),
    )
    def post(self, client: int, group: str | None, unique: str | None, priority: int) -> None:
        self.numbers += 1
        chosen = {"group": group, "unique": unique}
        extras = {name: value for name, value in chosen.items() if value is not None}
        stored = self.do(self.clients[client].post(self.queue, str(self.numbers), priority=priority, **extras))
        same = [one for one in self.model.living.values() if unique is not None and one.unique == unique]
        assert stored.get("duplicate", False) is bool(same), stored
        if same:
            assert stored["index"] == same[0].index
            return
        index = stored["index"]
        self.model.living[index] = Expected(index, str(self.numbers), group, unique, priority)
        self.posters[index] = client
        self.settled()

    @rule(order=st.permutations(range(CLIENTS)), count=st.integers(1, 3))
    def fetch_at_once(self, order: list[int], count: int) -> None:
        """All clients ask at the same time: together they get exactly what may go."""
        expected = self.model.to_be_claimed(count * CLIENTS)
        taken = self.do(self._fetch_at_once(order, count, len(expected)))
        assert sorted(frame["index"] for _, frame in taken) == sorted(one.index for one in expected)
        for client, frame in taken:
            one = self.model.living[frame["index"]]
            one.holder, one.attempts = client, one.attempts + 1
            assert (frame["body"], frame["attempt"], frame.get("group")) == (one.body, one.attempts, one.group)
            self.held[one.index] = frame

    async def _fetch_at_once(self, order: list[int], count: int, wanted: int) -> list[tuple[int, Fields]]:
        """Again, until so many came: a node may look before it has heard of the last change."""
        taken: list[tuple[int, Fields]] = []
        async with asyncio.timeout(PATIENCE):
            while True:
                answers = await asyncio.gather(*(self._fetch(client, count) for client in order))
                taken += [(client, frame) for client, frames in zip(order, answers, strict=True) for frame in frames]
                if len(taken) >= wanted:
                    return taken
                count = 1

    async def _fetch(self, client: int, count: int) -> list[Fields]:
        label = await self.clients[client].begin("fetch", self.queue, count=count)
        frames = []
        while (frame := await self.clients[client].next(label))["type"] == "message":
            frames.append(frame)
            if not frame["left"]:
                break
        return frames

    @precondition(lambda self: self.model.waiting() and not self.model.paused)
    @rule(client=st.integers(0, CLIENTS - 1))
    def pop(self, client: int) -> None:
        popped = self.do(self.clients[client].pop(self.queue, timeout=PATIENCE))
        assert popped["index"] == self.model.waiting()[0].index
        del self.model.living[popped["index"]]
        self.settled()

    @precondition(lambda self: self.model.claims())
    @rule(data=st.data(), how=st.sampled_from(["finish", "finish", "fail", "release", "run out"]))
    def end_claim(self, data: st.DataObject, how: str) -> None:
        one = data.draw(st.sampled_from(self.model.claims()))
        assert one.holder is not None
        client, frame = self.clients[one.holder], self.held.pop(one.index)
        if how == "finish":
            self.do(client.finish(frame))
            del self.model.living[one.index]
        elif how == "fail":
            self.do(client.fail(frame))
            self.model.end_attempt(one)
        elif how == "release":
            claim = {name: frame[name] for name in ("shard", "sequence", "index", "attempt")}
            label = self.do(client.begin("release", self.queue, response="write", **claim))
            self.do(client.expect(label, notice="write"))
            one.holder, one.attempts = None, one.attempts - 1
        else:
            self.cluster.query(RUN_OUT, self.shard, one.index)
            self.model.end_attempt(one)
        self.settled()

    @rule(client=st.integers(0, CLIENTS - 1))
    def disconnect(self, client: int) -> None:
        self.do(self.connections[client].__aexit__(None, None, None))
        for one in self.model.claims(client):
            self.model.end_attempt(one)
            del self.held[one.index]
        self.do(self.connect(client))
        self.settled()

    @precondition(lambda self: self.model.waiting())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.model.waiting()))
        client = self.clients[self.posters[one.index]]
        label = self.do(client.begin("cancel", self.queue, shard=self.shard, index=one.index))
        if self.do(client.next(label))["type"] == "notice":  # its session may be another by now
            del self.model.living[one.index]
        self.settled()

    @rule()
    def pause_or_resume(self) -> None:
        self.model.paused = not self.model.paused
        statement = "UPDATE queues_queue SET paused = %s, changed_at = now() WHERE id = %s"
        self.cluster.query(statement, self.model.paused, self.shard)

    @precondition(lambda self: self.may_lose_nodes)
    @rule(node=st.integers(0, 1))
    def lose_node(self, node: int) -> None:
        """What its clients held runs out, once the node is back."""
        lost = self.cluster.nodes[node]
        lost.kill()
        lost.start()
        lost.wait_until_ready()
        for client in (client for client in range(CLIENTS) if client % 2 == node):
            for one in self.model.claims(client):
                self.cluster.query(RUN_OUT, self.shard, one.index)
                self.model.end_attempt(one)
                del self.held[one.index]
            self.do(self.connect(client))
        self.settled()

    def teardown(self) -> None:
        for connection in self.connections:
            self.do(connection.__aexit__(None, None, None))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


def run(cluster: Cluster, how: settings, *, lose_nodes: bool) -> None:
    machine = type("MachineOnCluster", (Machine,), {"cluster": cluster, "may_lose_nodes": lose_nodes})
    run_state_machine_as_test(machine, settings=how)


def test_the_broker_does_what_the_model_says(four_nodes: Cluster) -> None:
    run(four_nodes, SHORT, lose_nodes=False)


@pytest.mark.long
def test_the_broker_does_what_the_model_says_for_long_and_when_nodes_are_lost(start_cluster: StartCluster) -> None:
    with start_cluster(nodes=2, reaper=True, REDIS_URL=os.environ["REDIS_URL"]) as cluster:
        run(cluster, LONG, lose_nodes=True)
