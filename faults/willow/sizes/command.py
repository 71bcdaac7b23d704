"""`./willow faults load`: see --help."""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from faults.willow.cluster import FaultyCluster
from faults.willow.sizes import Extent
from faults.willow.sizes.bodies import large_bodies
from faults.willow.sizes.connections import connections
from faults.willow.sizes.figures import Row
from faults.willow.sizes.queues import many_queues
from faults.willow.sizes.soak import soak

Measure = Callable[[FaultyCluster, Extent], Iterator[Row]]
MEASURES: dict[str, Measure] = {
    "connections": connections,
    "queues": many_queues,
    "bodies": large_bodies,
    "soak": soak,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./willow faults load", description=__doc__)
    parser.add_argument("what", nargs="*", default=[], help=f"of {', '.join(MEASURES)}; without it, all")
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the size, such as 0.1")
    parser.add_argument("--minutes", type=float, default=60.0, help="of the soak (60)")
    parser.add_argument("--bulk-rate", type=float, default=1000.0, help="most messages a second in the soak (1000)")
    chosen = parser.parse_args(arguments)
    for name in chosen.what:
        if name not in MEASURES:
            parser.error(f"there is no {name!r}; choose of {', '.join(MEASURES)}")
    for name in chosen.what or MEASURES:
        print(f"\n{name}, at {chosen.scale:g} of the size\n\n| what | figure |\n|---|---|", flush=True)
        _carry_out(MEASURES[name], Extent(chosen.scale, chosen.minutes, chosen.bulk_rate))
    return 0


def _carry_out(measure: Measure, extent: Extent) -> None:
    """On a cluster of its own, whose brokers reach PostgreSQL and Valkey without a proxy in between."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="willow-load-")))
        folder.chmod(0o711)  # the accounts of the servers must pass through
        cluster = FaultyCluster(folder, proxied=False)
        stack.callback(cluster.stop)
        cluster.start()
        for what, figure in measure(cluster, extent):
            print(f"| {what} | {figure} |", flush=True)
