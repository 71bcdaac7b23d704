"""The blocking client: threads, forks, loops, and event loops that it must not disturb."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from willow_client import BadArgument, ConnectionFailed, Request, Timeout, WillowError, serve, sync
from willow_client import Message as HeldMessage

from tests.support.cluster import PATIENCE, Cluster
from willow_site.project_folder import PROJECT_FOLDER


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


def test_a_call_that_a_signal_interrupts_takes_nothing(willow: sync.Client, queue: str) -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        willow.open()
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            willow.fetch(queue, block_timeout=PATIENCE)
    finally:
        signal.signal(signal.SIGALRM, before)
    willow.post(queue, "m")
    message = willow.fetch(queue, block_timeout=PATIENCE)
    assert message is not None
    assert message.text == "m"
    message.finish()


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


def test_the_stages_of_a_post(willow: sync.Client, queue: str) -> None:
    receipt = willow.post(queue, "m", notify=["assign", "finish"])
    message = willow.fetch(queue, block_timeout=PATIENCE)
    assert message is not None
    message.finish()
    assert list(receipt.notices(timeout=PATIENCE)) == ["sync", "assign", "finish"]
    with pytest.raises(Timeout):
        willow.post(queue, "nobody takes it", notify="finish").finished(timeout=0.1)


def test_a_loop_that_is_left_gives_back_at_once(broker: Cluster, willow: sync.Client, queue: str) -> None:
    """Nothing else is asked of the client that would wake it."""
    willow.post_many(queue, map(str, range(10)))
    messages = willow.subscribe(queue, in_flight=10)
    for message in messages:
        message.finish()
        break
    with sync.connect(broker.node.url) as other:
        attempts: list[int] = []
        while len(attempts) < 9:
            attempts += [message.attempt for message in other.fetch_many(queue, 10, block_timeout=PATIENCE)]
        assert attempts == [1] * 9
    with willow.subscribe(queue, in_flight=10) as messages:
        willow.post(queue, "again")
        willow.post(queue, "and again")
        texts = []
        for message in messages:
            texts.append(message.text)
            message.finish()
            break
        texts.append(next(messages).text)
    assert len(texts) == 2


def test_a_call_that_would_wait_for_itself_is_refused(willow: sync.Client, queue: str) -> None:
    raised: list[BaseException] = []
    done = threading.Event()

    async def handle(message: HeldMessage) -> None:
        try:
            willow.post(queue, "from inside")
        except WillowError as error:
            raised.append(error)
        done.set()

    with willow.worker(queue, handle):
        willow.post(queue, "m")
        assert done.wait(PATIENCE)
    assert "would wait for itself" in str(raised[0])


PREFORKING_PROGRAM = """
import asyncio, os, sys
from concurrent.futures import ThreadPoolExecutor
from willow_client import ClaimLost, ConnectionLost, sync

willow = sync.connect(sys.argv[1])  # as in a module of an application
queue = sys.argv[2]


def raises(kind, call):
    try:
        call()
    except kind:
        return True
    return False


def serve_requests(number):
    with ThreadPoolExecutor(4) as threads:  # as a server with threads does
        list(threads.map(lambda request: willow.post(queue, f"child {number}"), range(8)))

    async def asynchronous():  # as views do under ASGI
        await asyncio.gather(*(asyncio.to_thread(willow.post, queue, f"child {number}") for _ in range(2)))

    asyncio.run(asynchronous())


willow.post(queue, "parent")
held = willow.fetch(queue, block_timeout=20)
subscription = willow.subscribe(f"{queue}-2")
receipt = willow.post(f"{queue}-2", "m", notify="finish")
next(subscription)
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        assert raises(ClaimLost, held.finish)
        assert raises(ConnectionLost, receipt.finished)
        assert raises(ConnectionLost, lambda: next(subscription))
        assert raises(ConnectionLost, subscription.close)
        serve_requests(number)
        grandchild = os.fork() if number == 0 else None
        if grandchild == 0:
            willow.post(queue, "grandchild")
        elif grandchild:
            assert os.waitpid(grandchild, 0)[1] == 0
            willow.post(queue, "child again")
        sys.exit(0)  # what is to be done at the end is done in each process
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
held.finish()
willow.post(queue, "parent again")
"""


def test_processes_that_were_forked_have_connections_of_their_own(
    broker: Cluster, willow: sync.Client, queue: str
) -> None:
    """As under a server that loads the application first, and under workers that are forked."""
    program = subprocess.run(
        [sys.executable, "-X", "dev", "-c", PREFORKING_PROGRAM, broker.node.url, queue],
        env={"PYTHONPATH": str(PROJECT_FOLDER / "sdk")},
        timeout=PATIENCE,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert program.returncode == 0, program.stderr.decode()
    assert b"Traceback" not in program.stderr
    texts = Counter(message.text for message in willow.pop_many(queue, 100))
    by_children = {f"child {number}": 10 for number in range(3)}
    assert texts == Counter(by_children | {"grandchild": 1, "child again": 1, "parent again": 1})


FORKING_BELOW_PYTHON = """
import ctypes, os, sys
from willow_client import sync

willow = sync.connect(sys.argv[1])
willow.post(sys.argv[2], "parent")
child = ctypes.PyDLL(None).fork()  # as uWSGI does, without a word to Python
if child == 0:
    willow.post(sys.argv[2], "child")
    willow.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
willow.post(sys.argv[2], "parent again")
"""


def test_a_process_that_was_forked_below_python_has_a_connection_of_its_own(
    broker: Cluster, willow: sync.Client, queue: str
) -> None:
    program = [sys.executable, "-c", FORKING_BELOW_PYTHON, broker.node.url, queue]
    subprocess.run(program, env={"PYTHONPATH": str(PROJECT_FOLDER / "sdk")}, timeout=PATIENCE, check=True)
    assert [message.text for message in willow.pop_many(queue, 10)] == ["parent", "child", "parent again"]
