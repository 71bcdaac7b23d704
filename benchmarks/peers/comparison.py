"""Runs the workload on each peer that is installed and puts the results side by side."""

from collections.abc import Callable
from types import ModuleType

from benchmarks.figures import Figure
from benchmarks.load_process import LoadProcess
from benchmarks.peers import beanstalkd, nats_jetstream, pgmq, rabbitmq, skip_locked, valkey_streams, willow
from benchmarks.peers.local_server import NotRunError
from benchmarks.peers.workload import lay_out, posts_per_second, takes_per_second
from benchmarks.scale import Scale

PEERS: tuple[ModuleType, ...] = (willow, skip_locked, pgmq, valkey_streams, rabbitmq, nats_jetstream, beanstalkd)
GROUP = 100  # messages
# Messages laid out for each second of taking.
ENOUGH_ONE_BY_ONE = 5_000
ENOUGH_IN_GROUPS = 30_000


def compare(scale: Scale) -> list[Figure]:
    """The figures of all peers; they are printed as they come."""
    figures = []
    print(
        f"{'messages/s, 8 clients':26} {'post':>9} {'in 100s':>9} {'take+finish':>12} {'in 100s':>9}  after an answer"
    )
    for peer in PEERS:
        try:
            found = _measure(peer, scale)
        except NotRunError as reason:
            print(f"{peer.NAME:26} not run: {reason}", flush=True)
            continue
        post, post_groups, take, take_groups = (f"{figure.value:,.0f}" for figure in found)
        print(f"{peer.NAME:26} {post:>9} {post_groups:>9} {take:>12} {take_groups:>9}  {peer.DURABILITY}", flush=True)
        figures += found
    return figures


def _measure(peer: ModuleType, scale: Scale) -> list[Figure]:
    """A peer alone on the machine; its own runs one after the other, since only one server may run at a time."""
    if missing := peer.missing():
        raise NotRunError(missing)
    with LoadProcess() as load, peer.serving() as address:

        def posts(group: int) -> float:
            return load.run(posts_per_second, peer.__name__, address, group, scale.seconds)

        def takes(group: int) -> float:
            enough = ENOUGH_ONE_BY_ONE if group == 1 else ENOUGH_IN_GROUPS
            load.run(lay_out, peer.__name__, address, round(enough * scale.seconds), 2 * scale.seconds)
            return load.run(takes_per_second, peer.__name__, address, group, scale.seconds)

        def figure(name: str, measure: Callable[[int], float], group: int) -> Figure:
            values = [measure(group) for _ in range(scale.runs)]
            return Figure(name=f"{peer.NAME}: {name} by {group}", unit="messages/s", values=values)

        return [
            figure("post", posts, 1),
            figure("post", posts, GROUP),
            figure("take + finish", takes, 1),
            figure("take + finish", takes, GROUP),
        ]
