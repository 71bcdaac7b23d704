"""The Python client as a worker, against real brokers."""

import asyncio
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from willow_client import (
    Client,
    ConnectionFailed,
    Failed,
    GiveUp,
    Request,
    Retry,
    Timeout,
    WillowError,
    connect,
    serve,
    service_config,
)
from willow_client.timers import Timers

from tests.support.client import LOOK_SECONDS
from tests.support.cluster import PATIENCE, THROUGH_RESTARTS, Cluster
from tests.support.fixtures import StartCluster
from tests.support.keepalives import Keepalives
from tests.support.keys import make_key
from tests.support.workers import configure
from willow_site.processes import ends_with_parent
from willow_site.project_folder import PROJECT_FOLDER

WORKER_PROGRAM = """
import asyncio, sys, willow_client

async def answer(request):
    print("at work", flush=True)
    await asyncio.Event().wait()

asyncio.run(willow_client.serve(sys.argv[1], sys.argv[2], answer, hold=0.5).run())
"""

DRAINING_PROGRAM = """
import asyncio, sys, willow_client

async def answer(request):
    print("at work", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    return "done"

asyncio.run(willow_client.serve(sys.argv[1], sys.argv[2], answer).run())
"""


@pytest.fixture
def two_nodes(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(nodes=2, reaper=True) as cluster:
        yield cluster


async def upper(request: Request) -> str:
    return request.text.upper()


class Held:
    """A handler whose requests wait until they are let go."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.at_work = asyncio.Event()
        self.let_go = asyncio.Event()

    async def __call__(self, request: Request) -> str:
        self.requests.append(request)
        self.at_work.set()
        await self.let_go.wait()
        return "done"


# answering


async def test_a_request_is_answered(broker: Cluster, client: Client, service: str) -> None:
    async with serve(broker.node.url, service, upper):
        assert await client.request(service, "one") == b"ONE"
        assert await client.request(service, "two") == b"TWO"


async def test_replies_are_bytes_too_and_may_be_empty(broker: Cluster, client: Client, service: str) -> None:
    async def answer(request: Request) -> bytes | None:
        return request.body[::-1] if request.body else None

    async with serve(broker.node.url, service, answer):
        assert await client.request(service, bytes(range(256))) == bytes(range(256))[::-1]
        assert await client.request(service, b"") == b""


async def test_a_request_has_a_body_of_bytes_or_text(client: Client, service: str) -> None:
    with pytest.raises(TypeError, match="bytes or a text, not int"):
        await client.request(service, 5)  # type: ignore[arg-type]


async def test_slots_are_requests_at_once(broker: Cluster, client: Client, service: str) -> None:
    together = asyncio.Barrier(3)

    async def answer(request: Request) -> str:
        await together.wait()
        return "met"

    async with serve(broker.node.url, service, answer, slots=3):
        assert await asyncio.gather(*(client.request(service, "q") for _ in range(6))) == [b"met"] * 6


async def test_several_services_with_their_configurations(broker: Cluster, client: Client, service: str) -> None:
    configure(broker, service, {"size": 3})

    async def answer(request: Request) -> str:
        return f"{request.service} {request.config}"

    async with serve(broker.node.url, [service, f"{service}-other"], answer):
        assert await client.request(service, "q") == f"{service} {{'size': 3}}".encode()
        assert await client.request(f"{service}-other", "q") == f"{service}-other {{}}".encode()


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (ZeroDivisionError("no luck"), "ZeroDivisionError: no luck"),
        (GiveUp("not for me"), "not for me"),
        ({"not": "a body"}, "`reply` must be bytes or a text, not dict"),
        ("\ud800", "half a surrogate pair"),
    ],
)
async def test_a_handler_that_fails_is_told_to_the_caller_at_once(
    broker: Cluster, client: Client, service: str, outcome: Any, expected: str
) -> None:
    calls = 0

    async def answer(request: Request) -> Any:
        nonlocal calls
        calls += 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async with serve(broker.node.url, service, answer):
        with pytest.raises(Failed, match=re.escape(expected)):
            await client.request(service, "poison")
    assert calls == 1


async def test_a_handler_that_asks_for_another_attempt_gives_the_request_to_the_next(
    broker: Cluster, client: Client, service: str
) -> None:
    calls = 0

    async def answer(request: Request) -> str:
        nonlocal calls
        calls += 1
        raise Retry(f"attempt {calls}")

    await client.create(f"service:{service}", retry_limit=2, retry_delay=0)
    async with serve(broker.node.url, service, answer):
        with pytest.raises(WillowError, match="attempt 2"):
            await client.request(service, "poison")
    assert calls == 2


async def test_a_request_that_no_worker_takes_ends_in_its_time(client: Client, service: str) -> None:
    with pytest.raises(WillowError) as refusal:
        await client.request(service, "anybody?", timeout=0.2)
    assert (refusal.value.code, refusal.value.key) == ("Unavailable", "timeout")


async def test_a_blocking_handler_runs_in_a_thread(broker: Cluster, client: Client, service: str) -> None:
    together = threading.Barrier(2)

    def answer(request: Request) -> str:
        together.wait(PATIENCE)
        return threading.current_thread().name

    async with serve(broker.node.url, service, answer, slots=2):
        replies = await asyncio.gather(*(client.request(service, "q") for _ in range(2)))
    assert all(reply.startswith(b"willow") for reply in replies)


async def test_a_request_can_be_kept_alive(broker: Cluster, client: Client, service: str) -> None:
    async def answer(request: Request) -> str:
        lease = "SELECT lease_until FROM delivery_message WHERE queue_id = %s"
        shard = int(request.identifier.split(".")[0])
        before = broker.query(lease, shard)
        await request.keepalive()
        return "longer" if broker.query(lease, shard) > before else "no longer"

    async with serve(broker.node.url, service, answer):
        assert await client.request(service, "q", timeout=60) == b"longer"


async def test_leaving_finishes_what_is_at_work(broker: Cluster, client: Client, service: str) -> None:
    held = Held()
    async with serve(broker.node.url, service, held):
        reply = asyncio.ensure_future(client.request(service, "q"))
        await held.at_work.wait()
        asyncio.get_running_loop().call_soon(held.let_go.set)
    assert await reply == b"done"


async def test_a_worker_that_leaves_takes_no_more(broker: Cluster, client: Client, service: str) -> None:
    held = Held()
    leaving = serve(broker.node.url, service, held, slots=4)
    await leaving.__aenter__()
    first = asyncio.ensure_future(client.request(service, "first"))
    await held.at_work.wait()
    left = asyncio.ensure_future(leaving.__aexit__(None, None, None))
    async with serve(broker.node.url, service, upper, slots=4):
        later = [client.request(service, f"later {number}") for number in range(4)]
        assert await asyncio.gather(*later) == [f"LATER {number}".encode() for number in range(4)]
        held.let_go.set()
        await left
    assert await first == b"done"
    assert len(held.requests) == 1


async def test_a_handler_whose_own_task_is_cancelled_has_failed(broker: Cluster, client: Client, service: str) -> None:
    async def answer(request: Request) -> str:
        forgotten = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(forgotten.cancel)
        await forgotten
        return "never"

    async with serve(broker.node.url, service, answer):
        with pytest.raises(Failed, match="CancelledError"):
            await client.request(service, "q")


async def test_a_cancelled_worker_hands_its_requests_on(broker: Cluster, client: Client, service: str) -> None:
    held = Held()
    running = asyncio.ensure_future(serve(broker.node.url, service, held).run())
    reply = asyncio.ensure_future(client.request(service, "q"))
    await held.at_work.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    async with serve(broker.node.url, service, upper):
        assert await reply == b"Q"


# configuration and heartbeat


async def test_a_change_of_the_configuration_reaches_the_worker(broker: Cluster, client: Client, service: str) -> None:
    seen: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def answer(request: Request) -> str:
        return str(request.config)

    async with serve(broker.node.url, service, answer, on_config=seen.put_nowait) as worker:
        assert (await seen.get())["services"] == {service: {}}
        configure(broker, service, {"size": 4})
        async with asyncio.timeout(PATIENCE):
            assert (await seen.get())["services"] == {service: {"size": 4}} == worker.config["services"]
        for _ in range(3):  # each with a `ready` that names the new version
            assert await client.request(service, "q") == b"{'size': 4}"


async def test_a_configuration_that_the_program_cannot_take_does_not_end_the_worker(
    broker: Cluster, client: Client, service: str
) -> None:
    def choke(config: dict[str, Any]) -> None:
        raise ZeroDivisionError

    async with serve(broker.node.url, service, upper, on_config=choke):
        assert await client.request(service, "q") == b"Q"


async def test_a_worker_at_work_pings(
    broker: Cluster, client: Client, service: str, texts_sent: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred times as often as it says here, so that none can be late."""
    schedule = Timers.schedule
    monkeypatch.setattr(
        Timers, "schedule", lambda self, name, seconds, action: schedule(self, name, seconds / 100, action)
    )
    configure(broker, service, {}, heartbeat_interval=10)
    held = Held()
    async with serve(broker.node.url, service, held):
        reply = asyncio.ensure_future(client.request(service, "q"))
        async with asyncio.timeout(PATIENCE):
            while sum(b'"ping"' in text for text in texts_sent) < 6:
                await asyncio.sleep(LOOK_SECONDS)
        held.let_go.set()
        assert await reply == b"done"
    assert len(held.requests) == 1


# refusals


async def test_a_key_that_may_not_serve_is_told_so(broker: Cluster, service: str) -> None:
    key = make_key(broker, {service: {"request"}})
    with pytest.raises(WillowError) as refusal:
        await serve(broker.node.url, service, upper, token=key.secret).run()
    assert (refusal.value.code, refusal.value.key) == ("PermissionDenied", service)


async def test_a_key_that_may_only_serve_is_enough(broker: Cluster, client: Client, service: str) -> None:
    key = make_key(broker, {service: {"serve"}})
    await client.create(f"service:{service}", retry_delay=0)

    async def answer(request: Request) -> str:
        await request.keepalive()
        if request.text == "once more" and not failed:
            failed.append(request)
            raise Retry("not yet")
        return "answered"

    failed: list[Request] = []
    async with serve(broker.node.url, service, answer, token=key.secret):
        assert await client.request(service, "once more") == b"answered"
    assert failed


async def test_a_clock_that_is_off_ends_the_worker(
    broker: Cluster, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OffClock:
        time = staticmethod(lambda: time.time() - 60)

    monkeypatch.setattr(service_config, "time", OffClock)
    with pytest.raises(WillowError) as refusal:
        await serve(broker.node.url, service, upper).run()
    assert (refusal.value.code, refusal.value.key) == ("BadRequest", "time")


async def test_a_broker_that_is_not_there_cannot_be_served() -> None:
    with pytest.raises(ConnectionFailed):
        await serve("ws://127.0.0.1:1/connect/", "any", upper).run()


# what dies


async def test_a_reply_outlasts_a_killed_broker(two_nodes: Cluster, service: str) -> None:
    """It was ready while there was no broker to take it; the work is not done twice."""
    dying, living = two_nodes.nodes
    # A broker may take longer to start than a worker may be silent, and then the request would be somebody else's.
    configure(two_nodes, service, {}, heartbeat_interval=THROUGH_RESTARTS)
    held = Held()
    async with (
        connect(living.url, timeout=THROUGH_RESTARTS) as frontend,
        serve(dying.url, service, held, hold=THROUGH_RESTARTS) as worker,
    ):
        worker._brokers.learn([])  # it waits for its own broker
        reply = asyncio.ensure_future(frontend.request(service, "q"))
        await held.at_work.wait()
        dying.kill()
        held.let_go.set()
        dying.start()
        assert await reply == b"done"
        assert len(held.requests) == 1
        assert await frontend.request(service, "again") == b"done"


async def test_a_worker_goes_to_another_broker_when_its_own_is_down(two_nodes: Cluster, service: str) -> None:
    dying, living = two_nodes.nodes
    async with connect(living.url, timeout=THROUGH_RESTARTS) as frontend, serve(dying.url, service, upper):
        assert await frontend.request(service, "before") == b"BEFORE"
        dying.kill()
        assert await frontend.request(service, "after") == b"AFTER"


async def test_a_worker_leaves_a_broker_that_stops_when_its_work_is_done(two_nodes: Cluster, service: str) -> None:
    stopping, staying = two_nodes.nodes
    held = Held()
    async with connect(staying.url, timeout=THROUGH_RESTARTS) as frontend, serve(stopping.url, service, held):
        reply = asyncio.ensure_future(frontend.request(service, "q"))
        await held.at_work.wait()
        stopping.send(signal.SIGTERM)
        while stopping.accepts_connections():
            await asyncio.sleep(LOOK_SECONDS)
        held.let_go.set()
        assert await reply == b"done"
        assert await frontend.request(service, "on the other node") == b"done"
    assert [request.text for request in held.requests] == ["q", "on the other node"]


@contextmanager
def running(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env={"PYTHONPATH": str(PROJECT_FOLDER / "sdk")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=ends_with_parent(signal.SIGKILL),
    ) as process:
        yield process
        process.kill()


@pytest.fixture
def doomed(broker: Cluster, service: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker that answers nothing."""
    with running(WORKER_PROGRAM, broker.node.url, service) as process:
        yield process


async def test_requests_of_a_killed_worker_go_to_the_next(
    broker: Cluster, client: Client, service: str, doomed: subprocess.Popen[bytes]
) -> None:
    assert doomed.stdout is not None
    reply = asyncio.ensure_future(client.request(service, "q"))
    assert await asyncio.to_thread(doomed.stdout.readline) == b"at work\n"
    async with serve(broker.node.url, service, upper):
        doomed.kill()
        assert await reply == b"Q"


async def test_a_served_program_drains_when_it_is_terminated(broker: Cluster, client: Client, service: str) -> None:
    with running(DRAINING_PROGRAM, broker.node.url, service) as worker:
        assert worker.stdout is not None and worker.stdin is not None
        reply = asyncio.ensure_future(client.request(service, "q"))
        assert await asyncio.to_thread(worker.stdout.readline) == b"at work\n"
        worker.send_signal(signal.SIGTERM)
        worker.stdin.write(b"go on\n")
        worker.stdin.flush()
        assert await reply == b"done"
        assert await asyncio.to_thread(worker.wait, PATIENCE) == 0


# what a worker holds


async def test_requests_are_kept_alive_as_often_as_their_own_time_asks(
    broker: Cluster, client: Client, service: str, keepalives: Keepalives
) -> None:
    await client.create(f"service:{service}", heartbeat_timeout=keepalives.LEASE_SECONDS / 2)

    async def answer(request: Request) -> str:
        await keepalives.wait_for(3)
        return str(request.work_timeout)

    async with serve(broker.node.url, service, answer):
        assert await client.request(service, "q", timeout=None) == b"30.0"


@pytest.mark.usefixtures("keepalives")
async def test_a_request_that_nobody_waits_for_any_more_is_cancelled(
    broker: Cluster, client: Client, service: str
) -> None:
    cancelled = asyncio.Event()

    async def answer(request: Request) -> str:
        if request.text == "quick":
            return "here"
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    async with asyncio.timeout(PATIENCE), serve(broker.node.url, service, answer):
        with pytest.raises(Timeout):
            await client.request(service, "slow", timeout=3)  # in which the worker gets it
        await cancelled.wait()
        assert await client.request(service, "quick") == b"here"
