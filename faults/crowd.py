"""The processes in which clients live, by role. They can be killed, frozen and started again."""

import json
import os
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from faults.history import Clock, Kind, Recorder
from willow_site.processes import ends_with_parent, wait_until
from willow_site.project_folder import PROJECT_FOLDER

STOP_SECONDS = 60
BEGIN_SECONDS = 600


class Crowd(ABC):
    """One that was killed comes back under another name: nobody remembers what it held."""

    program: str  # a module, which is given its order in JSON

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.folder = folder
        self._clock = clock
        self._recorder = Recorder(folder / "crowd.jsonl", clock)
        self._started = 0
        self._names: dict[str, str] = {}
        self._latest: dict[str, Path] = {}  # histories
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @abstractmethod
    def order(self, role: str) -> dict[str, Any]:
        """What a process of this role has to know, beside its name and where its history goes."""

    def environ(self, role: str) -> dict[str, str]:
        """Variables that it has beside ours."""
        return {}

    def start(self, role: str, name: str | None = None) -> None:
        """`name`: of readers, whose positions belong to their names."""
        self._started += 1
        self._names[role] = name or f"{role}{self._started}"
        self._latest[role] = self.folder / f"{role}-{self._started}.jsonl"
        self._latest[role].touch()
        own = {
            "role": role,
            "name": self._names[role],
            "history": str(self._latest[role]),
            "clock_offset": self._clock.offset,
        }
        with (self.folder / f"{role}.log").open("ab") as log:
            self.processes[role] = subprocess.Popen(
                [sys.executable, "-m", self.program, json.dumps(own | self.order(role))],
                cwd=PROJECT_FOLDER,
                env={**os.environ, **self.environ(role)},
                stdout=log,
                stderr=log,
                preexec_fn=ends_with_parent(signal.SIGKILL),
            )

    def wait_until_begun(self) -> None:
        """On a busy machine processes take their time to start, and faults before that would befall nobody."""
        if not wait_until(lambda: all(history.stat().st_size for history in self._latest.values()), BEGIN_SECONDS):
            raise RuntimeError("The clients have not begun.")

    def kill(self, role: str) -> None:
        self.processes[role].kill()
        self.processes[role].wait()
        self._recorder.note(self._names[role], Kind.KILLED)

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
        return sorted(self.folder.glob("*.jsonl"))

    def check(self) -> None:
        """A mistake in the clients would make the histories worthless."""
        for log in self.folder.glob("*.log"):
            text = log.read_text()
            if "Traceback" in text:
                raise RuntimeError(f"The clients made a mistake:\n{text[-3000:]}")
