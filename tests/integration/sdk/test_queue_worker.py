"""Workers of queues: handlers of every kind, their outcomes, and an end in good order."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
import willow_client
from willow_client import Client, GiveBack, GiveUp, JobEvent, Message, PermissionDenied, Retry, worker
from willow_client.processes import InProcess

from tests.support.client import LOOK_SECONDS
from tests.support.cluster import PATIENCE, THROUGH_RESTARTS, Cluster
from tests.support.keepalives import Keepalives
from tests.support.keys import make_key
from willow_site.processes import ends_with_parent
from willow_site.project_folder import PROJECT_FOLDER


class Events:
    """A hook that keeps what it is told."""

    def __init__(self) -> None:
        self.all: list[JobEvent] = []
        self._changed = asyncio.Event()

    def __call__(self, event: JobEvent) -> None:
        self.all.append(event)
        self._changed.set()

    def kinds(self) -> Counter[str]:
        return Counter(event.kind for event in self.all)

    async def wait_for(self, kind: str, count: int = 1, patience: float = PATIENCE) -> None:
        async with asyncio.timeout(patience):
            while self.kinds()[kind] < count:
                self._changed.clear()
                await self._changed.wait()


def double(message: Message) -> str:
    """At the top of the module, so that a process finds it."""
    if message.text == "die":
        os._exit(1)
    if message.text == "stay":
        threading.Event().wait()
    return str(2 * int(message.text))


# handlers


async def test_an_asynchronous_handler(client: Client, other: Client, queue: str) -> None:
    together = asyncio.Barrier(3)

    async def handle(message: Message) -> str:
        await together.wait()
        return message.text.upper()

    async with client.worker(queue, handle, concurrency=3):
        replies = await asyncio.gather(*(other.post(queue, text, wait="finish") for text in "abc"))
    assert replies == [b"A", b"B", b"C"]


async def test_a_handler_gives_back_what_it_did_not_try(client: Client, queue: str) -> None:
    events, given_back = Events(), []

    async def handle(message: Message) -> None:
        if len(given_back) < 2:
            given_back.append(message.attempt)
            raise GiveBack

    async with client.worker(queue, handle, on_event=events):
        await client.post(queue, "m")
        await events.wait_for("finished")
    assert given_back == [1, 1] and events.kinds()["released"] == 2
    assert events.all[-1].message.attempt == 1


async def test_blocking_handlers_run_in_threads_and_keep_their_claims(
    client: Client, other: Client, queue: str, keepalives: Keepalives
) -> None:
    await client.create(queue, heartbeat_timeout=keepalives.LEASE_SECONDS)
    met = threading.Barrier(2)
    kept_alive = threading.Event()
    attempts = []

    def handle(message: Message) -> str:
        attempts.append(message.attempt)
        met.wait(PATIENCE)
        return "done" if kept_alive.wait(PATIENCE) else "alone"

    async with client.worker(queue, handle, concurrency=2):
        posts = asyncio.gather(*(other.post(queue, "m", wait="finish") for _ in range(2)))
        await keepalives.wait_for(6)
        kept_alive.set()
        replies = await posts
    assert replies == [b"done"] * 2 and attempts == [1, 1]


async def test_handlers_in_processes(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    events = Events()
    async with client.worker(queue, double, concurrency=1, run_in="process", on_event=events):
        assert await other.post(queue, "21", wait="finish") == b"42"
        with pytest.raises(willow_client.Dropped):
            await other.post(queue, "die", wait="finish")
        with pytest.raises(willow_client.Dropped):
            await other.post(queue, "not a number", wait="finish")
        assert await other.post(queue, "4", wait="finish") == b"8"
    assert [type(event.error) for event in events.all if event.kind == "failed"][1] is ValueError


async def test_a_process_whose_time_is_over_is_ended(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    events = Events()
    async with client.worker(queue, double, concurrency=1, run_in="process", time_limit=0.1, on_event=events) as worker:
        with pytest.raises(willow_client.Dropped):
            await other.post(queue, "stay", wait="finish")
        worker._slots[0]._time_limit = PATIENCE
        assert await other.post(queue, "4", wait="finish") == b"8"
    assert events.kinds()["timed_out"] == 1


async def test_tags_choose_the_queues(client: Client, other: Client, queue: str) -> None:
    async def handle(message: Message) -> str:
        return ",".join(message.tags)

    async with client.worker(queue, handle, tags="eu"):
        assert await other.post(queue, "m", tags=["eu"], wait="finish") == b"eu"


# outcomes


async def test_what_a_handler_raises_decides_about_the_next_attempt(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    await client.create(queue, retry_delay=0)
    events = Events()

    async def handle(message: Message) -> str:
        if message.attempt == 1:
            raise Retry("not yet", delay=0)
        if message.attempt == 2:
            raise ZeroDivisionError("no luck")
        return "done"

    async with client.worker(queue, handle, on_event=events):
        assert await other.post(queue, "m", wait="finish") == b"done"
    assert [event.kind for event in events.all] == [
        "started", "retried", "started", "failed", "started", "finished",
    ]  # fmt: skip
    assert isinstance(events.all[3].error, ZeroDivisionError) and events.all[5].seconds > 0


async def test_a_message_that_is_given_up_is_not_tried_again(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    events = Events()

    async def handle(message: Message) -> None:
        raise GiveUp("nobody knows this order")

    async with client.worker(queue, handle, on_event=events):
        with pytest.raises(willow_client.Dropped):
            await other.post(queue, "m", wait="finish")
    assert events.kinds() == {"started": 1, "given_up": 1}
    dead = await other.fetch(f"{queue}.dead")
    assert dead is not None
    ((error,),) = broker.query("SELECT last_error FROM delivery_message WHERE queue_id = %s", dead.shard)
    assert error == "nobody knows this order"


async def test_a_job_that_takes_too_long_has_failed(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    events = Events()

    async def handle(message: Message) -> None:
        await asyncio.Event().wait()

    async with client.worker(queue, handle, time_limit=0.1, on_event=events):
        with pytest.raises(willow_client.Dropped):
            await other.post(queue, "m", wait="finish")
    assert events.kinds() == {"started": 1, "timed_out": 1}


async def test_a_thread_that_takes_too_long_takes_nothing_more_until_it_is_back(client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    await client.post_many(queue, ["hangs", "next", "after it"])
    events, goes_on = Events(), threading.Event()
    seen: list[str] = []

    def handle(message: Message) -> None:
        seen.append(message.text)
        if message.text == "hangs":
            goes_on.wait(PATIENCE)

    async with client.worker(queue, handle, concurrency=1, time_limit=0.1, on_event=events) as worker:
        await events.wait_for("timed_out")
        for _ in range(100):
            await asyncio.sleep(0)
        assert events.kinds()["started"] == 1
        worker._slots[0]._time_limit = PATIENCE
        goes_on.set()
        await events.wait_for("finished", 2)
    assert seen == ["hangs", "next", "after it"]
    assert events.kinds() == {"started": 3, "timed_out": 1, "finished": 2}


async def test_a_process_finishes_its_work_though_the_whole_group_is_told_to_stop(client: Client, queue: str) -> None:
    async with client.worker(queue, double, concurrency=1, run_in="process") as worker:
        runner = worker._slots[0]._runner
        assert isinstance(runner, InProcess)
        await client.post(queue, "1", wait="finish", timeout=PATIENCE)
        process = runner._process
        assert process is not None and process.pid is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(process.pid, number)
        assert await client.post(queue, "21", wait="finish", timeout=PATIENCE) == b"42"
        assert runner._process is process and process.is_alive()


async def test_a_handler_that_awaits_something_cancelled_has_failed(client: Client, other: Client, queue: str) -> None:
    events = Events()

    async def handle(message: Message) -> None:
        if message.attempt == 1:
            raise asyncio.CancelledError

    await client.create(queue, retry_delay=0)
    async with client.worker(queue, handle, concurrency=1, on_event=events):
        await other.post(queue, "m", wait="finish", timeout=PATIENCE)
    assert events.kinds() == {"started": 2, "failed": 1, "finished": 1}


async def test_the_start_of_a_process_is_no_part_of_the_job(
    client: Client, other: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = InProcess._start
    may_start = threading.Event()
    events = Events()

    def slowly(self: InProcess) -> Any:
        may_start.wait(PATIENCE)
        return start(self)

    monkeypatch.setattr(InProcess, "_start", slowly)
    async with client.worker(queue, double, concurrency=1, run_in="process", on_event=events):
        receipt = await other.post(queue, "21", notify=["assign"])
        await receipt.assigned(timeout=PATIENCE)
        await client.fetch(queue)  # its answer comes the same way, behind the message
        assert not events.all
        may_start.set()
        assert await receipt.finished(timeout=2 * PATIENCE) == b"42"


async def test_a_lost_claim_cancels_the_handler(
    broker: Cluster, client: Client, other: Client, queue: str, keepalives: Keepalives
) -> None:
    await client.create(queue, heartbeat_timeout=keepalives.LEASE_SECONDS)
    events = Events()
    cancelled = asyncio.Event()

    async def handle(message: Message) -> None:
        broker.query("UPDATE delivery_message SET attempts = attempts + 1 WHERE queue_id = %s", message.shard)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with client.worker(queue, handle, on_event=events):
        await other.post(queue, "m")
        await events.wait_for("lost")
    assert cancelled.is_set()


async def test_a_reply_that_is_no_body_fails_the_job(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)

    async def handle(message: Message) -> object:
        return {"not": "a body"}

    async with client.worker(queue, handle):
        with pytest.raises(willow_client.Dropped):
            await other.post(queue, "m", wait="finish")


async def test_a_hook_that_fails_does_not_end_the_worker(client: Client, other: Client, queue: str) -> None:
    def choke(event: JobEvent) -> None:
        raise ZeroDivisionError

    async def handle(message: Message) -> str:
        return "done"

    async with client.worker(queue, handle, on_event=choke):
        assert await other.post(queue, "m", wait="finish") == b"done"


async def test_a_worker_that_may_not_read_is_told_so(broker: Cluster, queue: str) -> None:
    key = make_key(broker, {queue: {"post"}})
    async with willow_client.connect(broker.node.url, token=key.secret) as client:
        with pytest.raises(PermissionDenied):
            await client.worker(queue, print).run()


async def test_a_handler_that_takes_no_notice_of_its_limit_has_finished(client: Client, queue: str) -> None:
    """And is told of the limit of the next job as well."""
    events = Events()

    async def handle(message: Message) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            current = asyncio.current_task()
            assert current is not None
            if message.text == "last":
                assert current.cancelling() == 1
                raise

    await client.create(queue, retry_limit=1)
    async with client.worker(queue, handle, concurrency=1, time_limit=0.1, on_event=events):
        await client.post_many(queue, ["first", "last"])
        await events.wait_for("timed_out")
    assert events.kinds() == {"started": 2, "finished": 1, "timed_out": 1}


async def test_a_process_that_is_to_end_while_it_starts_is_ended(
    client: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins, may_start = threading.Event(), threading.Event()
    started: list[BaseProcess] = []
    start = BaseProcess.start

    def slowly(self: BaseProcess) -> None:
        begins.set()
        may_start.wait(PATIENCE)
        start(self)
        started.append(self)

    monkeypatch.setattr(BaseProcess, "start", slowly)
    async with client.worker(queue, double, concurrency=1, run_in="process") as worker:
        runner = worker._slots[0]._runner
        assert isinstance(runner, InProcess)
        assert await asyncio.to_thread(begins.wait, PATIENCE)
    may_start.set()
    thread = runner._talking._thread
    assert thread is not None
    await asyncio.to_thread(thread.join, PATIENCE)
    [process] = started
    await asyncio.to_thread(process.join, PATIENCE)
    assert process.exitcode == -signal.SIGKILL


# the end


async def test_what_is_settled_when_the_worker_stops_is_settled(client: Client, other: Client, queue: str) -> None:
    """Neither its end nor that of the time for jobs comes in between."""
    events, stored = Events(), asyncio.Event()

    async def handle(message: Message) -> str:
        message.settling()
        await stored.wait()
        return "done"

    worker = client.worker(queue, handle, concurrency=1, drain_timeout=0, on_event=events)
    async with worker:
        post = asyncio.ensure_future(other.post(queue, "m", wait="finish"))
        await events.wait_for("started")
        worker._slots[0].interrupt("timed_out")
        stopping = asyncio.ensure_future(worker.stop())
        asyncio.get_running_loop().call_later(LOOK_SECONDS, stored.set)
        assert await post == b"done"
        await stopping
    assert events.kinds() == {"started": 1, "finished": 1}


async def test_what_cannot_be_settled_is_given_back(
    client: Client, other: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "SETTLE_SECONDS", 0)
    events = Events()

    async def handle(message: Message) -> None:
        message.settling()
        await asyncio.Event().wait()

    async with client.worker(queue, handle, drain_timeout=0, on_event=events):
        await other.post(queue, "m")
        await events.wait_for("started")
    assert events.kinds() == {"started": 1, "released": 1}
    message = await other.fetch(queue)
    assert message is not None and message.attempt == 1


async def test_a_handler_that_cannot_be_cancelled_is_not_waited_for(
    client: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the worker is told to stop, and in whatever way."""
    for name in ("SETTLE_SECONDS", "RELEASE_SECONDS", "CANCELLED_SECONDS"):
        monkeypatch.setattr(worker, name, 0)
    events, goes_on = Events(), asyncio.Event()

    async def handle(message: Message) -> None:
        while not goes_on.is_set():
            with suppress(asyncio.CancelledError):
                await goes_on.wait()

    stubborn = client.worker(queue, handle, concurrency=2, drain_timeout=0, on_event=events)
    async with asyncio.timeout(PATIENCE), stubborn:
        await client.post(queue, "m")
        await events.wait_for("started")
        await asyncio.gather(stubborn.stop(), stubborn.stop(at_once=True))
        assert stubborn.given_up == 1
    goes_on.set()
    await events.wait_for("finished")


async def test_who_stops_at_once_keeps_no_other_one_waiting(
    client: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has stopped it before, and would give it an hour."""
    for name in ("SETTLE_SECONDS", "RELEASE_SECONDS", "CANCELLED_SECONDS"):
        monkeypatch.setattr(worker, name, 0)
    events, goes_on = Events(), asyncio.Event()

    async def handle(message: Message) -> None:
        while not goes_on.is_set():
            with suppress(asyncio.CancelledError):
                await goes_on.wait()

    stubborn = client.worker(queue, handle, concurrency=1, drain_timeout=3600, on_event=events)
    async with asyncio.timeout(PATIENCE), stubborn:
        await client.post(queue, "m")
        await events.wait_for("started")
        draining = asyncio.ensure_future(stubborn.stop())
        while not stubborn.stopping:
            await asyncio.sleep(0)
        try:
            await stubborn.stop(at_once=True)
            await draining
        finally:
            goes_on.set()
    await events.wait_for("finished")


async def test_the_end_finishes_what_is_at_work_and_gives_back_the_rest(
    client: Client, other: Client, queue: str
) -> None:
    await other.post_many(queue, map(str, range(10)))
    events = Events()
    let_go = asyncio.Event()

    async def handle(message: Message) -> None:
        await let_go.wait()

    async with client.worker(queue, handle, concurrency=2, prefetch=6, on_event=events):
        await events.wait_for("started", 2)
        asyncio.get_running_loop().call_later(0, let_go.set)
    assert events.kinds() == {"started": 2, "finished": 2}
    assert [message.attempt for message in await other.fetch_many(queue, 10)] == [1] * 8


async def test_what_is_not_done_in_time_is_given_back(client: Client, other: Client, queue: str) -> None:
    await other.post(queue, "m")
    events = Events()

    async def handle(message: Message) -> None:
        await asyncio.Event().wait()

    async with client.worker(queue, handle, drain_timeout=0.1, on_event=events):
        await events.wait_for("started")
    assert events.kinds() == {"started": 1, "released": 1}
    message = await other.fetch(queue)
    assert message is not None and message.attempt == 1


PROGRAM = """
import logging, sys, willow_client

def handle(message):
    print("at work", flush=True)
    sys.stdin.readline()

logging.basicConfig(stream=sys.stdout, format="%(message)s", level=logging.INFO)
willow_client.run_worker(sys.argv[1], sys.argv[2], handle, concurrency=1, prefetch=5, hold=0.5)
"""


@contextmanager
def running_worker(cluster: Cluster, queue: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, cluster.node.url, queue],
        env={"PYTHONPATH": str(PROJECT_FOLDER / "sdk")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=ends_with_parent(signal.SIGKILL),
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_program_drains_when_it_is_told_to_stop(
    broker: Cluster, client: Client, queue: str, number: signal.Signals
) -> None:
    await client.post_many(queue, map(str, range(6)))
    with running_worker(broker, queue) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        assert await asyncio.to_thread(worker.stdout.readline) == b"at work\n"
        worker.send_signal(number)
        await _are_held(broker, queue, 1)
        worker.stdin.write(b"go on\n")
        worker.stdin.flush()
        assert await asyncio.to_thread(worker.wait, PATIENCE) == 0
    messages = await client.fetch_many(queue, 10)
    assert [(message.text, message.attempt) for message in messages] == [(str(number), 1) for number in range(1, 6)]


async def test_a_second_signal_does_not_wait(broker: Cluster, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    with running_worker(broker, queue) as worker:
        assert worker.stdout is not None
        assert await asyncio.to_thread(worker.stdout.readline) == b"at work\n"
        worker.send_signal(signal.SIGTERM)
        assert b"no more messages" in await asyncio.to_thread(worker.stdout.readline)
        worker.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(worker.wait, PATIENCE) == 0
    message = await client.fetch(queue, block_timeout=PATIENCE)
    assert message is not None and message.attempt == 1


async def test_when_a_worker_dies_only_what_it_held_is_tried_again(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post_many(queue, map(str, range(20)))
    with running_worker(broker, queue) as worker:
        assert worker.stdout is not None
        assert await asyncio.to_thread(worker.stdout.readline) == b"at work\n"
        await _are_held(broker, queue, 6)
    await _are_held(broker, queue, 0)
    attempts = Counter(message.attempt for message in await client.fetch_many(queue, 100))
    assert attempts == {1: 14, 2: 6}


async def test_a_worker_goes_on_when_its_broker_is_killed_and_when_it_is_stopped(
    own_cluster: Cluster, queue: str
) -> None:
    """What is at work then is finished at its first attempt, and nothing is worked on twice."""
    node, events, let_go = own_cluster.node, Events(), asyncio.Event()

    async def handle(message: Message) -> None:
        await let_go.wait()

    async with (
        asyncio.timeout(THROUGH_RESTARTS),
        willow_client.connect(node.url, hold=THROUGH_RESTARTS, timeout=THROUGH_RESTARTS) as client,
        client.worker(queue, handle, concurrency=2, on_event=events),
    ):
        for number, end in enumerate((node.kill, node.stop)):
            assert (await client.post_many(queue, map(str, range(10)))).stored == 10
            await events.wait_for("started", 10 * number + 2)
            await asyncio.to_thread(end)
            let_go.set()
            node.start()
            await events.wait_for("finished", 10 * number + 10, patience=THROUGH_RESTARTS)
            let_go.clear()
    assert events.kinds() == {"started": 20, "finished": 20}


async def _are_held(cluster: Cluster, queue: str, count: int) -> None:
    held = (
        "SELECT count(*) FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id"
        " WHERE q.name = %s AND m.holder IS NOT NULL"
    )
    async with asyncio.timeout(PATIENCE):
        while cluster.query(held, queue) != [(count,)]:
            await asyncio.sleep(LOOK_SECONDS)
