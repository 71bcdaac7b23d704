"""The workload for task queues: their own workers take the messages, and what has ended is counted at the server."""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

from benchmarks.load_process import LoadProcess
from benchmarks.peers.environment import packages
from benchmarks.peers.local_server import NotRunError
from benchmarks.peers.results import BOTH, POST, POST_MANY, STEADY, TAKE, Results
from benchmarks.peers.steady import MESSAGES_PER_SECOND, WARM_UP_MESSAGES, Pace, post_steadily
from benchmarks.peers.usage import Usage
from benchmarks.peers.workload import (
    CLIENTS,
    LOOK_SECONDS,
    Progress,
    Work,
    connected,
    lay_out,
    peer_of,
    post,
    posting,
)
from benchmarks.rates import WARM_UP_SECONDS
from willow_site.project_folder import PROJECT_FOLDER

GROUP = 100  # messages
ENOUGH = 2_000  # messages laid out for each second of taking
START_SECONDS = 120
END_SECONDS = 10


def measure(load: LoadProcess, peer: ModuleType, address: str, seconds: float) -> Results:
    """In groups where the peer's client knows groups; its workers know none."""
    name = peer.__name__
    results = {
        STEADY: load.run(steadily, name, address, seconds),
        BOTH: load.run(both, name, address, seconds),
        POST: load.run(post, name, address, 1, seconds),
        TAKE: load.run(take, name, address, seconds),
    }
    if getattr(peer, "IN_GROUPS", False):
        results[POST_MANY] = load.run(post, name, address, GROUP, seconds)
    return results


async def steadily(peer_name: str, address: str, seconds: float) -> Pace:
    messages = WARM_UP_MESSAGES + round(MESSAGES_PER_SECOND * seconds)
    with tempfile.TemporaryDirectory(prefix="willow-waits-") as folder:
        waits = Path(folder) / "waits"
        async with connected(peer_name, address, 1) as (poster,), working(peer_name, address, waits):
            await poster.post([b"x"])
            await _until_empty(peer_name, address)  # the workers are there
            used_when_warm = await post_steadily(poster, messages)
            await _until_empty(peer_name, address)
            used = Usage.so_far() - used_when_warm
        times = [float(line) for line in waits.read_text().splitlines()]
    return Pace.of(times[WARM_UP_MESSAGES:], used)


async def take(peer_name: str, address: str, seconds: float) -> Work:
    await lay_out(peer_name, address, round(ENOUGH * seconds), 3 * seconds)
    left = peer_of(peer_name).left
    async with working(peer_name, address):
        full = await left(address)
        await _until(lambda count: count < full, peer_name, address)
        await asyncio.sleep(WARM_UP_SECONDS)
        before, used, began = await left(address), Usage.so_far(), time.perf_counter()
        now = before
        while now > 0 and time.perf_counter() < began + seconds:
            await asyncio.sleep(10 * LOOK_SECONDS)
            now = await left(address)
        return Work.of(before - now, time.perf_counter() - began, Usage.so_far() - used)


async def both(peer_name: str, address: str, seconds: float) -> Work:
    """What counts is what was finished: posted, and not left."""
    left = peer_of(peer_name).left
    async with connected(peer_name, address, CLIENTS) as posters, working(peer_name, address):
        await posters[0].post([b"x"])
        await _until_empty(peer_name, address)
        meter = Progress()
        tasks = [asyncio.ensure_future(posting(poster, 1)(meter)) for poster in posters]
        await asyncio.sleep(WARM_UP_SECONDS)
        before, used, began = meter.done - await left(address), Usage.so_far(), time.perf_counter()
        await asyncio.sleep(seconds)
        done = meter.done - await left(address) - before
        work = Work.of(done, time.perf_counter() - began, Usage.so_far() - used)
        meter.running = False
        await asyncio.gather(*tasks)
        return work


async def _until_empty(peer_name: str, address: str) -> None:
    await _until(lambda count: count == 0, peer_name, address)


async def _until(reached: Callable[[int], bool], peer_name: str, address: str) -> None:
    deadline = time.perf_counter() + START_SECONDS
    while not reached(await peer_of(peer_name).left(address)):
        if time.perf_counter() > deadline:
            raise NotRunError(f"its workers did not get on within {START_SECONDS} seconds")
        await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def working(peer_name: str, address: str, waits: Path | None = None) -> AsyncIterator[None]:
    """The peer's workers run, as children of the clients' process."""
    peer = peer_of(peer_name)
    environ = getattr(peer, "worker_environ", _with_peers_packages)(address)
    workers = await asyncio.create_subprocess_exec(
        *peer.worker_command(address),
        env=environ | ({} if waits is None else {"BENCH_WAITS": str(waits)}),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        workers.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(workers.wait(), END_SECONDS)
        except TimeoutError:
            workers.kill()
            await workers.wait()


def _with_peers_packages(address: str) -> dict[str, str]:
    paths = os.pathsep.join([str(PROJECT_FOLDER), packages()])
    return {**os.environ, "PYTHONPATH": paths, "BENCH_ADDRESS": address}
