"""Networks that are slow, silent or cut: between clients, brokers, PostgreSQL and Valkey."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice

from faults.willow.network import Wire
from faults.willow.troubles import Scene, Trouble
from tests.support.proxy import NO_LINGER

Wires = Callable[[Scene], list[Wire]]
STORM, STORM_THREADS = 10_000, 50  # connections
SLOW_SECONDS = (0.02, 0.2)


def _to_clients(scene: Scene) -> list[Wire]:
    return scene.cluster.client_wires


def _to_storage(scene: Scene) -> list[Wire]:
    return scene.cluster.storage_wires


def _to_valkey(scene: Scene) -> list[Wire]:
    return scene.cluster.valkey_wires


@contextmanager
def _slow(scene: Scene, wires: Wires) -> Iterator[None]:
    chosen = wires(scene)
    for wire in chosen:
        wire.delay(scene.random.uniform(*SLOW_SECONDS))
    yield
    for wire in chosen:
        wire.delay(0)


@contextmanager
def _silent(scene: Scene, wires: Wires) -> Iterator[None]:
    """One way goes silent; then, at random, it goes on as if nothing had been, or what was on its way is lost."""
    wire = scene.random.choice(wires(scene))
    if scene.random.random() < 0.5:
        wire.stall()
    else:
        wire.stall_answers()
    yield
    if scene.random.random() < 0.5:
        wire.reset()
    wire.flow()


@contextmanager
def _cut(scene: Scene, wires: Wires) -> Iterator[None]:
    for wire in wires(scene):
        wire.reset()
    yield


@contextmanager
def connection_storm(scene: Scene) -> Iterator[None]:
    """Connections that are opened and dropped without a word: to the brokers themselves, as fast as they take them."""
    ports = [node.port for node in scene.cluster.nodes]
    with ThreadPoolExecutor(STORM_THREADS) as threads:
        for port in islice(cycle(ports), STORM):
            threads.submit(_open_and_drop, port)
    yield


def _open_and_drop(port: int) -> None:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as dropped:
            dropped.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)  # or ports run out
            dropped.sendall(b"GET /connect/ HTTP/1.1\r\n")
    except OSError:
        return


NETWORK_TROUBLES = (
    Trouble("a slow network to clients", "client network", partial(_slow, wires=_to_clients)),
    Trouble("a silent network to clients", "client network", partial(_silent, wires=_to_clients), (2, 8)),
    Trouble("all client sockets reset", "client network", partial(_cut, wires=_to_clients), (0, 0)),
    Trouble("a slow network to PostgreSQL", "storage network", partial(_slow, wires=_to_storage)),
    Trouble("a silent network to PostgreSQL", "storage network", partial(_silent, wires=_to_storage), (2, 8)),
    Trouble("all connections to PostgreSQL reset", "storage network", partial(_cut, wires=_to_storage), (0, 0)),
    Trouble("a slow network to Valkey", "valkey network", partial(_slow, wires=_to_valkey)),
    Trouble("a silent network to Valkey", "valkey network", partial(_silent, wires=_to_valkey), (2, 8)),
    Trouble("10,000 connections opened and dropped", "client network", connection_storm, (0, 0)),
)
