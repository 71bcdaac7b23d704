"""A run with a peer: its server is killed, frozen and cut off while clients use it."""

import asyncio
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.peers.environment import enter_peers_environment
from faults.checker import SAFETY, Judgement, check
from faults.history import Clock, Event, Kind, Recorder, read_history
from faults.peers import CLAIM_SECONDS, PeerServer, pgmq, procrastinate, rabbitmq, valkey_streams
from faults.peers.load import QUEUE, SHARD, Connect, PeerClient
from faults.remains import Ending, Fault, Live, Remains
from faults.willow.cluster import signal_server
from faults.willow.network import Network, Wire

PEERS: dict[str, tuple[Callable[[Path], PeerServer], Connect]] = {
    pgmq.NAME: (pgmq.PgmqServer, pgmq.connect),
    valkey_streams.NAME: (valkey_streams.StreamServer, valkey_streams.connect),
    rabbitmq.NAME: (rabbitmq.RabbitServer, rabbitmq.connect),
    procrastinate.NAME: (procrastinate.ProcrastinateServer, procrastinate.connect),
}
OF_OTHERS = (rabbitmq.NAME, procrastinate.NAME)  # with packages that Willow does not need
# What can be read from clients' histories and from what is left; peers keep no journal.
JUDGES = {
    name: SAFETY[name]
    for name in (
        "lost",
        "double claims",
        "finished twice",
        "redelivered after a finish told `sync`",
        "stale finishes taken",
        "ghosts",
        "indexes twice",
    )
}
POSTERS, CONSUMERS = 3, 4
BETWEEN_SECONDS = (3.0, 6.0)


def judge_peer(
    name: str, seed: int, seconds: float, rate: float, tell: Callable[[str], None]
) -> tuple[Judgement, list[Fault]]:
    """The same seed chooses the same faults in the same order."""
    make, connect = PEERS[name]
    if name in OF_OTHERS:
        enter_peers_environment()
    with tempfile.TemporaryDirectory(prefix="willow-peer-") as folder:
        place = Path(folder)
        place.chmod(0o711)
        (place / "server").mkdir(mode=0o711)
        server = make(place / "server")
        url = server.start()
        network = Network()
        wire = network.wire(server.port)
        parts = urlsplit(url)
        wired = parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{wire.port}").geturl()
        recorder = Recorder(place / "history", Clock())
        clients = _Clients(wired, connect, recorder, seed, rate)
        try:
            faults = _inflict(server, wire, seed, seconds, tell)
            clients.stop(server)
            history = read_history([place / "history"])
            left = server.left()
        finally:
            network.stop()
            server.stop()
        return check(history, _remains(history, left), faults, judges=JUDGES), faults


class _Clients:
    """In a thread of their own."""

    def __init__(self, url: str, connect: Connect, recorder: Recorder, seed: int, rate: float) -> None:
        self._loop = asyncio.new_event_loop()
        self._posters = [PeerClient(f"poster-{n}", url, connect, recorder, seed) for n in range(POSTERS)]
        self._consumers = [PeerClient(f"consumer-{n}", url, connect, recorder, seed) for n in range(CONSUMERS)]
        self._pause = POSTERS / rate
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._run()))
        self._thread.start()

    async def _run(self) -> None:
        posters = [client.run(self._pause, posts=True) for client in self._posters]
        consumers = [client.run(0.02, posts=False) for client in self._consumers]
        await asyncio.gather(*posters, *consumers)

    def stop(self, server: PeerServer) -> None:
        """Posters first; consumers when everything is worked off, or nothing changes any more."""
        for client in self._posters:
            self._loop.call_soon_threadsafe(client.stopping.set)
        deadline = time.monotonic() + 10 * CLAIM_SECONDS
        while server.left() and time.monotonic() < deadline:
            time.sleep(1)
        for client in self._consumers:
            self._loop.call_soon_threadsafe(client.stopping.set)
        self._thread.join()


def _inflict(server: PeerServer, wire: Wire, seed: int, seconds: float, tell: Callable[[str], None]) -> list[Fault]:
    dice, clock = random.Random(seed), Clock()
    faults: list[Fault] = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(dice.uniform(*BETWEEN_SECONDS))
        name = dice.choice(("server killed (kill -9)", "server frozen (SIGSTOP)", "all sockets reset"))
        tell(f"{time.strftime('%H:%M:%S')} {name}")
        began = clock.now()
        if name == "server killed (kill -9)":
            signal_server(server, signal.SIGKILL)
            server.start()
        elif name == "server frozen (SIGSTOP)":
            signal_server(server, signal.SIGSTOP)
            time.sleep(dice.uniform(2, 2 * CLAIM_SECONDS))
            signal_server(server, signal.SIGCONT)
        else:
            wire.reset()
        faults.append(Fault(name, began, clock.now()))
    return faults


def _remains(history: Sequence[Event], left: Sequence[str]) -> Remains:
    """A peer has no journal to ask: what somebody wanted to finish and is not there has ended as the last attempt."""
    posted = {event.body: event for event in history if event.kind == Kind.TOLD}
    attempts: dict[int, int] = {}
    endings: dict[int, Ending] = {}
    for event in history:
        if event.kind == Kind.RECEIVED:
            attempts[event.index] = max(event.attempt, attempts.get(event.index, 0))
        elif event.kind in (Kind.SAY, Kind.CONFIRMED):
            endings[event.index] = Ending(SHARD, QUEUE, event.index, "finished", attempts[event.index])
    live = [Live(SHARD, QUEUE, 0, posted[body].index, body) for body in left if body in posted]
    for message in live:
        endings.pop(message.index, None)
    return Remains(live, list(endings.values()))
