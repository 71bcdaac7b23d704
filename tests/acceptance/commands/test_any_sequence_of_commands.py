"""Random lives of messages, held against a model that is simple enough to be believed."""

import asyncio
import uuid
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.support.client import Client, claim, connected
from tests.support.cluster import PATIENCE, Cluster
from willow_site.processes import wait_until

RETRY_LIMIT = 2
KEYS = [None, None, "a", "b"]
Result = TypeVar("Result")
readers = st.integers(0, 1)
counts = st.integers(1, 3)


@dataclass
class Modelled:
    """A live message as the model knows it."""

    index: int
    sequence: int
    priority: int
    body: str
    key: str | None
    attempts: int = 0


class LivesOfMessages(RuleBasedStateMachine):
    """One queue, one client that posts and two that read."""

    def __init__(self, broker: Cluster) -> None:
        super().__init__()
        self._broker = broker
        self._runner = asyncio.Runner()
        self._connections: dict[Client, Any] = {}
        self._queue = f"queue-{uuid.uuid4().hex}"
        self._poster = self._connect()
        self._readers = [self._connect(), self._connect()]
        settings = {"retry_limit": RETRY_LIMIT, "retry_delay": 0, "updatable": True}
        self._shard = self._run(self._poster.create(self._queue, **settings))["shard"]
        self._posted = 0
        self._newest_index = 0
        self._most_live = 0
        self._waiting: list[Modelled] = []
        self._claimed: list[list[Modelled]] = [[], []]
        self._ended: list[Modelled] = []
        self._dead: list[str] = []

    def _run(self, doing: Awaitable[Result]) -> Result:
        async def run() -> Result:
            return await doing

        return self._runner.run(run())

    def _connect(self) -> Client:
        connection = connected(self._broker.node.url)
        client = self._run(connection.__aenter__())
        self._connections[client] = connection
        return client

    def _live(self) -> list[Modelled]:
        return [*self._waiting, *self._claimed[0], *self._claimed[1]]

    def _frame(self, message: Modelled) -> dict[str, Any]:
        numbers = {"shard": self._shard, "sequence": message.sequence, "index": message.index}
        return {"queue": self._queue, **numbers}

    # what clients do

    @rule(priority=st.integers(0, 2), key=st.sampled_from(KEYS))
    def post(self, priority: int, key: str | None) -> None:
        self._posted += 1
        body = f"body {self._posted}"
        notice = self._run(self._poster.post(self._queue, body, priority=priority, key=key))
        replaced = [message for message in self._waiting if key is not None and message.key == key]
        if replaced:
            newest = max(replaced, key=lambda message: message.index)
            assert (notice["sequence"], notice["index"]) == (newest.sequence, newest.index)
            newest.priority, newest.body = priority, body
            return
        self._newest_index += 1
        assert notice["index"] == self._newest_index
        assert notice["sequence"] not in {message.sequence for message in self._live()}
        self._waiting.append(Modelled(notice["index"], notice["sequence"], priority, body, key))
        self._most_live = max(self._most_live, len(self._live()))
        assert notice["sequence"] <= self._most_live, "a free ID was not used again"

    @rule(reader=readers, count=counts)
    def fetch(self, reader: int, count: int) -> None:
        self._claimed[reader] += self._take("fetch", reader, count)

    @rule(reader=readers, count=counts)
    def pop(self, reader: int, count: int) -> None:
        self._ended += self._take("pop", reader, count)

    def _take(self, command: str, reader: int, count: int) -> list[Modelled]:
        by_rank = sorted(self._waiting, key=lambda message: (-message.priority, message.index))
        client, expected = self._readers[reader], by_rank[:count]
        label = self._run(client.begin(command, self._queue, count=count))
        for message in expected:
            message.attempts += 1
            self._waiting.remove(message)
            fields = {"body": message.body, "attempt": message.attempts, "finished": command == "pop"}
            self._run(client.expect(label, type="message", **self._frame(message), **fields))
        if not expected:
            self._run(client.expect(label, type="nomessage"))
        return expected

    @precondition(lambda self: any(self._claimed))
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        reader, message = self._draw_claim(data)
        self._run(self._readers[reader].finish(self._frame(message)))
        self._ended.append(message)

    @precondition(lambda self: any(self._claimed))
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        reader, message = self._draw_claim(data)
        self._run(self._readers[reader].fail(self._frame(message)))
        self._attempt_failed(message)

    def _draw_claim(self, data: st.DataObject) -> tuple[int, Modelled]:
        reader = data.draw(st.sampled_from([reader for reader in (0, 1) if self._claimed[reader]]))
        return reader, self._claimed[reader].pop(data.draw(st.integers(0, len(self._claimed[reader]) - 1)))

    def _attempt_failed(self, message: Modelled) -> None:
        if message.attempts < RETRY_LIMIT:
            self._waiting.append(message)
        else:
            self._ended.append(message)
            self._dead.append(message.body)

    @precondition(lambda self: any(self._claimed))
    @rule(data=st.data(), command=st.sampled_from(["finish", "fail", "keepalive"]))
    def touch_what_the_other_reader_holds(self, data: st.DataObject, command: str) -> None:
        reader, message = self._draw_claim(data)
        self._claimed[reader].append(message)
        self._refused(1 - reader, command, message, "PermissionDenied")

    @precondition(lambda self: self._waiting or self._ended)
    @rule(data=st.data(), reader=readers, command=st.sampled_from(["finish", "fail", "keepalive"]))
    def touch_what_nobody_holds(self, data: st.DataObject, reader: int, command: str) -> None:
        message = data.draw(st.sampled_from([*self._waiting, *self._ended]))
        self._refused(reader, command, message, "NoObject")

    def _refused(self, reader: int, command: str, message: Modelled, code: str) -> None:
        client = self._readers[reader]
        label = self._run(client.begin(command, **claim(self._frame(message))))
        self._run(client.expect(label, code=code, key=f"{self._shard}/{message.sequence}"))

    @rule(reader=readers)
    def disconnect(self, reader: int) -> None:
        client = self._readers[reader]
        self._run(client.close())
        assert wait_until(lambda: not self._holds_something(client), PATIENCE)
        self._readers[reader] = self._connect()
        while self._claimed[reader]:
            self._attempt_failed(self._claimed[reader].pop())

    def _holds_something(self, client: Client) -> bool:
        return bool(
            self._broker.query(
                "SELECT FROM delivery_message m JOIN clients_session s ON s.id = m.holder WHERE s.token = %s",
                client.id,
            )
        )

    # what must hold at the end

    @invariant()
    def nothing_came_unasked(self) -> None:
        assert [client.unread() for client in (self._poster, *self._readers)] == [[], [], []]

    def teardown(self) -> None:
        try:
            for reader in (0, 1):
                self.disconnect(reader)
            self.fetch(0, len(self._waiting) + 1)
            dead = [self._run(self._poster.pop(f"{self._queue}.dead"))["body"] for _ in self._dead]
            assert sorted(dead) == sorted(self._dead)
            self._run(self._poster.finds_nothing(f"{self._queue}.dead"))
        finally:
            for connection in self._connections.values():
                self._run(connection.__aexit__(None, None, None))
            self._runner.close()


def test_messages_live_as_the_model_says(broker: Cluster) -> None:
    run_state_machine_as_test(
        lambda: LivesOfMessages(broker),
        settings=settings(max_examples=12, stateful_step_count=40, deadline=None),
    )
