"""A run with a peer: its server and its clients are killed, frozen and cut off while they work."""

import random
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.peers.environment import enter_peers_environment
from faults.checker import SAFETY, Judgement, check
from faults.crowd import Crowd
from faults.history import Clock, read_history
from faults.peers import CLAIM_SECONDS, PeerServer
from faults.peers.adapters import ADAPTERS
from faults.peers.afterwards import ended_by_disconnects, remains_of
from faults.peers.clients import CONSUMERS, POSTERS
from faults.peers.troubles import PeerScene, inflict
from faults.remains import Fault
from faults.willow.network import Network
from willow_site.processes import wait_until

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


def judge_peer(
    name: str, seed: int, seconds: float, rate: float, tell: Callable[[str], None]
) -> tuple[Judgement, list[Fault]]:
    """The same seed chooses the same faults in the same order."""
    if ADAPTERS[name].needs_packages:
        enter_peers_environment()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="willow-peer-")))
        folder.chmod(0o711)
        (folder / "server").mkdir(mode=0o711)
        (folder / "histories").mkdir()
        server = ADAPTERS[name].serve(folder / "server")
        stack.callback(server.stop)
        parts = urlsplit(server.start())
        network = Network()
        stack.callback(network.stop)
        wire = network.wire(server.port)
        wired = parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{wire.port}").geturl()
        clock = Clock()
        crowd = PeerCrowd({"peer": name, "url": wired, "seed": seed, "rate": rate}, folder / "histories", clock)
        stack.callback(crowd.kill_all)
        for role in (POSTERS, *CONSUMERS):
            crowd.start(role)
        crowd.wait_until_begun()
        faults = inflict(PeerScene(server, wire, crowd, random.Random(seed)), clock, seconds, tell)
        _work_off(server, crowd)
        crowd.check()
        history = read_history(crowd.histories())
        remains = remains_of(history, server.left())
        if ADAPTERS[name].gives_on_at_disconnects:
            remains.endings.extend(ended_by_disconnects(history, faults))
        return check(history, remains, faults, judges=JUDGES), faults


class PeerCrowd(Crowd):
    program = "faults.peers.clients"

    def __init__(self, terms: dict[str, Any], folder: Path, clock: Clock) -> None:
        super().__init__(folder, clock)
        self._terms = terms

    def order(self, role: str) -> dict[str, Any]:
        return self._terms


def _work_off(server: PeerServer, crowd: Crowd) -> None:
    """Posters go first; consumers when everything is worked off, or nothing changes any more."""
    crowd.stop(POSTERS)
    wait_until(lambda: not server.left(), 10 * CLAIM_SECONDS)
    for role in CONSUMERS:
        crowd.stop(role)
