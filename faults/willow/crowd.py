"""The processes in which the clients of a run live."""

import json
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from faults.history import Clock
from faults.willow.load.__main__ import Order
from willow_site.configuration import PROJECT_FOLDER
from willow_site.processes import ends_with_parent

STOP_SECONDS = 60


class Crowd:
    """Processes by role. One that was killed comes back under another name: nobody remembers what it held."""

    def __init__(self, urls: list[str], folder: Path, clock: Clock, seed: int, rate: float) -> None:
        self._urls = urls
        self._folder = folder
        self._clock = clock
        self._seed = seed
        self._rate = rate
        self._started = 0
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, role: str, name: str | None = None) -> None:
        """`name`: of readers, whose positions belong to their names."""
        self._started += 1
        called = name or f"{role}{self._started}"
        history = str(self._folder / f"{role}-{self._started}.jsonl")
        order = Order(role, called, self._urls, history, self._clock.offset, self._seed, self._rate)
        with (self._folder / f"{role}.log").open("ab") as log:
            self.processes[role] = subprocess.Popen(
                [sys.executable, "-m", "faults.willow.load", json.dumps(asdict(order))],
                cwd=PROJECT_FOLDER,
                stdout=log,
                stderr=log,
                preexec_fn=ends_with_parent(signal.SIGKILL),
            )

    def kill(self, role: str) -> None:
        self.processes[role].kill()
        self.processes[role].wait()

    def send(self, role: str, number: signal.Signals) -> None:
        self.processes[role].send_signal(number)

    def stop(self, role: str) -> None:
        process = self.processes.pop(role)
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def ended(self) -> list[str]:
        """Roles whose process has ended by itself, which is a mistake of theirs."""
        return [role for role, process in self.processes.items() if process.poll() is not None]

    def kill_all(self) -> None:
        for role in self.processes:
            self.kill(role)

    def histories(self) -> list[Path]:
        return sorted(self._folder.glob("*.jsonl"))
