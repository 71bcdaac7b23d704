"""Brokers, reapers, servers and clients that are killed, stopped or frozen."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from faults.willow.cluster import signal_server, wait_for
from faults.willow.crowd import CONSUMERS
from faults.willow.troubles import Scene, Trouble
from tests.support.cluster import Node, WillowProcess

ROLES = ("posters", *CONSUMERS, "services", "bulk")


@contextmanager
def _killed(scene: Scene, nodes: int) -> Iterator[None]:
    chosen = scene.random.sample(scene.cluster.nodes, nodes)
    for node in chosen:
        node.kill()
    yield
    _start_again(chosen)


def _start_again(nodes: list[Node]) -> None:
    for node in nodes:
        node.start()
    wait_for(nodes)


@contextmanager
def _frozen(process: WillowProcess) -> Iterator[None]:
    process.send(signal.SIGSTOP)
    yield
    process.send(signal.SIGCONT)


@contextmanager
def frozen_broker(scene: Scene) -> Iterator[None]:
    with _frozen(scene.random.choice(scene.cluster.nodes)):
        yield


@contextmanager
def stopped_broker(scene: Scene) -> Iterator[None]:
    node = scene.random.choice(scene.cluster.nodes)
    node.stop()
    yield
    _start_again([node])


@contextmanager
def rolling_restart(scene: Scene) -> Iterator[None]:
    for node in scene.cluster.nodes:
        node.stop()
        _start_again([node])
    yield


@contextmanager
def killed_reaper(scene: Scene) -> Iterator[None]:
    reaper = scene.random.choice(scene.cluster.reapers)
    reaper.kill()
    yield
    reaper.start()


@contextmanager
def frozen_reaper(scene: Scene) -> Iterator[None]:
    with _frozen(scene.random.choice(scene.cluster.reapers)):
        yield


@contextmanager
def stopped_reapers(scene: Scene) -> Iterator[None]:
    for reaper in scene.cluster.reapers:
        reaper.stop()
    yield
    for reaper in scene.cluster.reapers:
        reaper.start()


@contextmanager
def killed_storage(scene: Scene) -> Iterator[None]:
    signal_server(scene.cluster.postgres, signal.SIGKILL)
    yield
    scene.cluster.postgres.start()


@contextmanager
def stopped_storage(scene: Scene) -> Iterator[None]:
    scene.cluster.postgres.stop()
    yield
    scene.cluster.postgres.start()


@contextmanager
def frozen_storage(scene: Scene) -> Iterator[None]:
    signal_server(scene.cluster.postgres, signal.SIGSTOP)
    yield
    signal_server(scene.cluster.postgres, signal.SIGCONT)


@contextmanager
def killed_valkey(scene: Scene) -> Iterator[None]:
    signal_server(scene.cluster.valkey, signal.SIGKILL)
    yield
    scene.cluster.valkey.start()


@contextmanager
def frozen_valkey(scene: Scene) -> Iterator[None]:
    signal_server(scene.cluster.valkey, signal.SIGSTOP)
    yield
    signal_server(scene.cluster.valkey, signal.SIGCONT)


@contextmanager
def killed_clients(scene: Scene) -> Iterator[None]:
    role = scene.random.choice(ROLES)
    scene.crowd.kill(role)
    yield
    scene.crowd.start(role)


@contextmanager
def frozen_clients(scene: Scene) -> Iterator[None]:
    role = scene.random.choice(ROLES)
    scene.crowd.send(role, signal.SIGSTOP)
    yield
    scene.crowd.send(role, signal.SIGCONT)


PROCESS_TROUBLES = (
    Trouble("a broker killed (kill -9)", "brokers", partial(_killed, nodes=1)),
    Trouble("all brokers killed (kill -9)", "brokers", partial(_killed, nodes=3)),
    Trouble("a broker frozen (SIGSTOP) for longer than its lapse", "brokers", frozen_broker, (7, 12)),
    Trouble("a broker stopped (SIGTERM)", "brokers", stopped_broker),
    Trouble("rolling restart", "brokers", rolling_restart, (0, 0)),
    Trouble("a reaper killed (kill -9)", "reapers", killed_reaper),
    Trouble("a reaper frozen (SIGSTOP)", "reapers", frozen_reaper, (3, 8)),
    Trouble("both reapers stopped (SIGTERM)", "reapers", stopped_reapers),
    Trouble("PostgreSQL killed (kill -9)", "storage", killed_storage, (0, 2), crashes_storage=True),
    Trouble("PostgreSQL stopped", "storage", stopped_storage, (0, 3)),
    Trouble("PostgreSQL frozen (SIGSTOP)", "storage", frozen_storage, (2, 8)),
    Trouble("Valkey killed (kill -9)", "valkey", killed_valkey),
    Trouble("Valkey frozen (SIGSTOP)", "valkey", frozen_valkey),
    Trouble("clients killed (kill -9)", "clients", killed_clients, (0, 2)),
    Trouble("clients frozen (SIGSTOP)", "clients", frozen_clients, (3, 8)),
)
