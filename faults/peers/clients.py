"""A process with clients of a peer: `python -m faults.peers.clients '{"role": …}'`. SIGTERM ends it in good order."""

import asyncio
import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.environment import find_installed_clients
from faults.history import Clock, Recorder
from faults.peers.adapters import ADAPTERS
from faults.peers.load import PeerClient

POSTERS = "posters"
CONSUMERS = ("consumers", "rivals")  # when one process stands still or dies, the other goes on
POSTERS_OF_PROCESS, CONSUMERS_OF_PROCESS = 3, 2
TAKE_PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class Order:
    """What a process is to do."""

    role: str
    name: str
    peer: str
    url: str
    history: str
    clock_offset: float
    seed: int
    rate: float  # posts a second


async def main(order: Order) -> None:
    recorder = Recorder(Path(order.history), Clock(order.clock_offset))
    posts = order.role == POSTERS
    connect = ADAPTERS[order.peer].connect
    clients = [
        PeerClient(f"{order.name}-{number}", order.url, connect, recorder, order.seed)
        for number in range(POSTERS_OF_PROCESS if posts else CONSUMERS_OF_PROCESS)
    ]

    def stop() -> None:
        for client in clients:
            client.stopping.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    pause = POSTERS_OF_PROCESS / order.rate if posts else TAKE_PAUSE_SECONDS
    await asyncio.gather(*(client.run(pause, posts=posts) for client in clients))
    recorder.close()


if __name__ == "__main__":
    find_installed_clients()
    asyncio.run(main(Order(**json.loads(sys.argv[1]))))
