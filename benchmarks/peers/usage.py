"""The processor time of a peer's server and of its clients, read while both are at work.

Read in the load process: whatever the benchmark started beside it is the server's, what it started itself the clients'.
"""

import contextlib
from dataclasses import dataclass
from typing import Self

import psutil


@dataclass(frozen=True)
class Usage:
    """Seconds."""

    server: float
    clients: float

    @classmethod
    def so_far(cls) -> Self:
        own = psutil.Process()
        clients = [own, *own.children(recursive=True)]
        pids = {process.pid for process in clients}
        started_beside = own.parent()
        assert started_beside is not None
        servers = [process for process in started_beside.children(recursive=True) if process.pid not in pids]
        return cls(_seconds(servers), _seconds(clients))

    def __sub__(self, earlier: "Usage") -> "Usage":
        return Usage(self.server - earlier.server, self.clients - earlier.clients)


def _seconds(processes: list[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total
