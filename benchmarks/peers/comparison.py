"""Runs the workload on each peer that is installed, by turns, and puts the results side by side."""

from collections import defaultdict
from collections.abc import Iterable
from types import ModuleType

from benchmarks.figures import Figure
from benchmarks.load_process import LoadProcess
from benchmarks.peers import (
    beanstalkd,
    celery_tasks,
    dramatiq_tasks,
    nats_jetstream,
    pgmq,
    procrastinate_tasks,
    rabbitmq,
    skip_locked,
    task_queues,
    valkey_streams,
    willow,
    willow_shared,
    willow_subscribed,
    workload,
)
from benchmarks.peers.bars import figures_of
from benchmarks.peers.environment import enter_peers_environment
from benchmarks.peers.results import BOTH, POST, POST_MANY, STEADY, TAKE, TAKE_MANY, Results, print_results
from benchmarks.peers.steady import steadily
from benchmarks.scale import Scale

PEERS: dict[str, tuple[ModuleType, ...]] = {
    "willow": (willow, willow_subscribed, willow_shared),
    "pgmq": (pgmq,),
    "rabbitmq": (rabbitmq,),
    "redis": (valkey_streams,),
    "beanstalkd": (beanstalkd,),
    "nats": (nats_jetstream,),
    "skip-locked": (skip_locked,),
    "procrastinate": (procrastinate_tasks,),
    "celery": (celery_tasks,),
    "dramatiq": (dramatiq_tasks,),
}
GROUP = 100  # messages
# Messages laid out for each second of taking.
ENOUGH_ONE_BY_ONE = 5_000
ENOUGH_IN_GROUPS = 30_000


def compare(scale: Scale, chosen: Iterable[str]) -> list[Figure]:
    enter_peers_environment()
    peers = [peer for name in chosen for peer in PEERS[name]]
    found: dict[ModuleType, list[Results]] = defaultdict(list)
    for peer in list(peers):
        if remedy := peer.missing():
            print(f"{peer.NAME} is not installed: {remedy}", flush=True)
            peers.remove(peer)
    for number in range(1, scale.runs + 1):
        for peer in list(peers):
            print(f"round {number} of {scale.runs}: {peer.NAME}", flush=True)
            try:
                found[peer].append(_measure(peer, scale.seconds))
            except Exception as reason:  # whatever another program does: the others' results must not be lost with it
                print(f"{peer.NAME} was not run to its end: {reason!r}", flush=True)
                peers.remove(peer)
    found = {peer: rounds for peer, rounds in found.items() if len(rounds) == scale.runs}
    print_results(found)
    return figures_of(found)


def _measure(peer: ModuleType, seconds: float) -> Results:
    """A peer alone on the machine: first what needs an empty queue, then what fills it, then what empties it."""
    with LoadProcess() as load, peer.serving() as address:
        if hasattr(peer, "worker_command"):
            return task_queues.measure(load, peer, address, seconds)
        name = peer.__name__
        results = {
            STEADY: load.run(steadily, name, address, seconds),
            BOTH: load.run(workload.both, name, address, seconds),
            POST: load.run(workload.post, name, address, 1, seconds),
            TAKE: load.run(workload.take, name, address, 1, seconds, round(ENOUGH_ONE_BY_ONE * seconds)),
        }
        if getattr(peer, "IN_GROUPS", True):
            enough = round(ENOUGH_IN_GROUPS * seconds)
            results[POST_MANY] = load.run(workload.post, name, address, GROUP, seconds)
            results[TAKE_MANY] = load.run(workload.take, name, address, GROUP, seconds, enough)
        return results
