"""Brokers some of whose methods raise."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.broken_broker import FAULT
from tests.support.cluster import Cluster, Node
from willow_site.processes import ends_with_parent
from willow_site.project_folder import PROJECT_FOLDER


class BrokenNode(Node):
    """A broker some of whose methods raise when they have done their work."""

    targets: tuple[str, ...] = ()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.broken_broker", *self.targets],
                cwd=PROJECT_FOLDER,
                env=self._environ,
                stdout=log,
                stderr=log,
                preexec_fn=ends_with_parent(9),
            )


@contextmanager
def broken_node(cluster: Cluster, *targets: str) -> Iterator[Node]:
    name = f"broken-{targets[0].rpartition('.')[2]}"
    node = BrokenNode(name, cluster._environ, cluster._folder / f"{name}.log")
    node.targets = targets
    node.start()
    try:
        node.wait_until_ready()
        yield node
        assert FAULT in node.log.read_text(), "the fault was never met"
    finally:
        node.kill()
