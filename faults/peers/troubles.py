"""What happens to a peer: to its server, to the network, and to its clients."""

import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from faults.crowd import Crowd
from faults.history import Clock
from faults.peers import CLAIM_SECONDS, PeerServer
from faults.peers.clients import CONSUMERS, POSTERS
from faults.remains import Fault
from faults.willow.cluster import signal_server
from faults.willow.network import Wire

BETWEEN_SECONDS = (3.0, 6.0)
FROZEN_SECONDS = (2.0, 2.0 * CLAIM_SECONDS)


@dataclass(frozen=True)
class PeerScene:
    server: PeerServer
    wire: Wire  # over which all clients reach it
    crowd: Crowd
    dice: random.Random


def _kill_server(scene: PeerScene) -> None:
    signal_server(scene.server, signal.SIGKILL)
    scene.server.start()


def _freeze_server(scene: PeerScene) -> None:
    signal_server(scene.server, signal.SIGSTOP)
    time.sleep(scene.dice.uniform(*FROZEN_SECONDS))
    signal_server(scene.server, signal.SIGCONT)


def _reset_sockets(scene: PeerScene) -> None:
    scene.wire.reset()


def _kill_clients(scene: PeerScene) -> None:
    role = scene.dice.choice((POSTERS, *CONSUMERS))
    scene.crowd.kill(role)
    scene.crowd.start(role)


def _freeze_clients(scene: PeerScene) -> None:
    role = scene.dice.choice(CONSUMERS)
    scene.crowd.send(role, signal.SIGSTOP)
    time.sleep(scene.dice.uniform(*FROZEN_SECONDS))
    scene.crowd.send(role, signal.SIGCONT)


TROUBLES: dict[str, Callable[[PeerScene], None]] = {
    "server killed (kill -9)": _kill_server,
    "server frozen (SIGSTOP)": _freeze_server,
    "all sockets reset": _reset_sockets,
    "clients killed (kill -9)": _kill_clients,
    "clients frozen (SIGSTOP)": _freeze_clients,
}


def inflict(scene: PeerScene, clock: Clock, seconds: float, tell: Callable[[str], None]) -> list[Fault]:
    faults: list[Fault] = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(scene.dice.uniform(*BETWEEN_SECONDS))
        name = scene.dice.choice(list(TROUBLES))
        tell(f"{time.strftime('%H:%M:%S')} {name}")
        began = clock.now()
        TROUBLES[name](scene)
        faults.append(Fault(name, began, clock.now()))
    return faults
