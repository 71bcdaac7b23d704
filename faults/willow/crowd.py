"""The processes in which the clients of a run live."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from faults.history import APART, Clock, Kind, Recorder
from faults.willow.clocks import with_clock
from faults.willow.load.__main__ import Order
from willow_site.processes import ends_with_parent
from willow_site.project_folder import PROJECT_FOLDER

STOP_SECONDS = 60
CLOCKED = ("posters", "consumers", "readers", "services")  # their clocks can be set


@dataclass(frozen=True)
class Terms:
    """What holds for all processes of a run."""

    urls: list[str]
    seed: int
    rate: float
    bulk_queues: list[str]
    bulk_rate: float


class Crowd:
    """Processes by role. One that was killed comes back under another name: nobody remembers what it held."""

    def __init__(self, terms: Terms, folder: Path, clock: Clock) -> None:
        self._terms = terms
        self._folder = folder
        self._clock = clock
        self._recorder = Recorder(folder / "crowd.jsonl", clock)
        self._posting_over = folder / "posting-over"
        self._started = 0
        self._names: dict[str, str] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, role: str, name: str | None = None) -> None:
        """`name`: of readers, whose positions belong to their names."""
        self._started += 1
        self._names[role] = name or f"{role}{self._started}"
        history = str(self._folder / f"{role}-{self._started}.jsonl")
        order = Order(
            role=role,
            name=self._names[role],
            history=history,
            clock_offset=self._clock.offset,
            posting_over=str(self._posting_over),
            **asdict(self._terms),
        )
        with (self._folder / f"{role}.log").open("ab") as log:
            self.processes[role] = subprocess.Popen(
                [sys.executable, "-m", "faults.willow.load", json.dumps(asdict(order))],
                cwd=PROJECT_FOLDER,
                env={**os.environ, **(with_clock(self.clock_file(role)) if role in CLOCKED else {})},
                stdout=log,
                stderr=log,
                preexec_fn=ends_with_parent(signal.SIGKILL),
            )

    def clock_file(self, role: str) -> Path:
        return self._folder / f"{role}.clock"

    def kill(self, role: str) -> None:
        self.processes[role].kill()
        self.processes[role].wait()
        self._recorder.note(self._names[role], Kind.KILLED)

    def post_no_more(self) -> None:
        self.stop("posters")
        self._posting_over.touch()

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

    def histories(self, bulk_queue: str | None = None) -> list[Path]:
        """What is about one of the bulk queues, with the connections of its clients; or everything else."""
        if bulk_queue is None:
            return sorted(file for file in self._folder.glob("*.jsonl") if APART not in file.name)
        apart = sorted(self._folder.glob(f"*{APART}{bulk_queue}.jsonl"))
        return [*apart, *(file for file in self.histories() if file.name.startswith(("bulk-", "crowd.")))]
