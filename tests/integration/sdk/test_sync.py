"""The blocking client: threads, forks, loops, and event loops that it must not disturb."""

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from willow_client import BadArgument, ConnectionFailed, Request, serve, sync

from tests.support.cluster import PATIENCE, Cluster
from willow_site.configuration import PROJECT_FOLDER


@pytest.fixture
def willow(broker: Cluster) -> Iterator[sync.Client]:
    client = sync.connect(broker.node.url)
    yield client
    client.close()


def test_the_same_methods(willow: sync.Client, queue: str) -> None:
    willow.create(queue, retry_delay=0)
    receipt = willow.post(queue, "a", notify=["assign", "finish"])
    assert (receipt.queue, receipt.index) == (queue, 1)
    message = willow.fetch(queue, block_timeout=PATIENCE)
    assert message is not None and (message.text, message.attempt, message.queue) == ("a", 1, queue)
    receipt.assigned(timeout=PATIENCE)
    message.keepalive()
    message.finish("reply")
    assert receipt.finished(timeout=PATIENCE) == b"reply"
    assert willow.post_many(queue, (str(number) for number in range(25)), window=10).stored == 25
    willow.finish_many(willow.fetch_many(queue, 25))
    assert willow.pop(queue) is None and willow.pop_many(queue, 5) == []
    assert willow.cancel(willow.post(queue, "never"))
    willow.post_to_all([queue, f"{queue}-2"], "m")
    with pytest.raises(ZeroDivisionError), willow.working(willow.fetch(queue)):  # type: ignore[arg-type]
        _ = 1 / 0
    with willow.working(willow.fetch(queue, block_timeout=PATIENCE)) as work:  # type: ignore[arg-type]
        assert work.message.attempt == 2


def test_a_loop_over_messages(willow: sync.Client, queue: str) -> None:
    willow.post_many(queue, map(str, range(10)))
    for message in willow.subscribe(queue, in_flight=10):
        message.finish()
        break
    attempts: list[int] = []
    while len(attempts) < 9:
        attempts += [message.attempt for message in willow.fetch_many(queue, 10, block_timeout=PATIENCE)]
    assert attempts == [1] * 9


def test_a_worker_in_the_background(willow: sync.Client, queue: str) -> None:
    done = threading.Event()
    with willow.worker(queue, lambda message: done.set()):
        willow.post(queue, "m")
        assert done.wait(PATIENCE)


def test_many_threads_share_it(willow: sync.Client, queue: str) -> None:
    def post() -> None:
        for _ in range(20):
            willow.post(queue, "m")

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(willow.pop_many(queue, 1000)) == 160


async def test_a_service_can_be_asked(broker: Cluster, willow: sync.Client, service: str) -> None:
    async def answer(request: Request) -> bytes:
        return request.body

    async with serve(broker.node.url, service, answer):
        assert await asyncio.to_thread(willow.request, service, "echo") == b"echo"


async def test_a_call_inside_an_event_loop_is_warned_of(willow: sync.Client, queue: str) -> None:
    with pytest.warns(RuntimeWarning, match="holds up this event loop"):
        willow.post(queue, "m")


def test_it_connects_when_it_is_used_and_again_after_close(broker: Cluster, queue: str) -> None:
    nowhere = sync.connect("ws://127.0.0.1:1/connect/")
    with pytest.raises(ConnectionFailed):
        nowhere.post(queue, "m")
    with pytest.raises(ConnectionFailed):
        sync.connect("http://127.0.0.1/")
    with sync.connect(broker.node.url) as client:
        client.post(queue, "m")
    assert client.post(queue, "m").index == 2
    client.close()
    with pytest.raises(BadArgument), client:
        client.post("", "m")


FORKING_PROGRAM = """
import os, sys
from willow_client import sync, ClaimLost

willow = sync.connect(sys.argv[1])
queue = sys.argv[2]
willow.post(queue, "parent")
held = willow.fetch(queue, block_timeout=20)
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        try:
            held.finish()
        except ClaimLost:
            willow.post(queue, f"child {number}")
            willow.close()
            os._exit(0)
        os._exit(1)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
held.finish()
willow.post(queue, "parent again")
"""


def test_a_forked_process_has_a_connection_of_its_own(broker: Cluster, willow: sync.Client, queue: str) -> None:
    """As under a server that loads the application first, and under workers that are forked."""
    subprocess.run(
        [sys.executable, "-c", FORKING_PROGRAM, broker.node.url, queue],
        env={"PYTHONPATH": str(PROJECT_FOLDER / "sdk")},
        timeout=PATIENCE,
        check=True,
    )
    texts = Counter(message.text for message in willow.pop_many(queue, 10))
    assert texts == Counter(["child 0", "child 1", "child 2", "parent again"])
