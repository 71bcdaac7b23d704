"""Processes of this machine: who is who, and how one ends for certain.

A process number alone says nothing, since the system gives it to someone else once its owner has ended.
Together with the time at which the process began it is an identity that can be kept in a file.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.02
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


@dataclass(frozen=True)
class ProcessIdentity:
    pid: int
    began: str  # opaque; equal only for the same process

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity | None":
        """The process that has this number now, or None if nobody has it or its owner has ended."""
        began = _began_linux(pid) if sys.platform == "linux" else _began_by_ps(pid)
        return None if began is None else cls(pid, began)

    @classmethod
    def read(cls, file: Path) -> "ProcessIdentity | None":
        """The process that was written to `file`, whether or not it still runs."""
        try:
            pid, began = file.read_text().split("\n")[:2]
            return cls(int(pid), began)
        except (OSError, ValueError):
            return None

    def write(self, file: Path) -> None:
        file.write_text(f"{self.pid}\n{self.began}\n")

    def runs(self) -> bool:
        return ProcessIdentity.of(self.pid) == self

    def send(self, number: signal.Signals) -> None:
        if self.runs():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def end(self, first: signal.Signals, *, patience: float, last: signal.Signals = signal.SIGKILL) -> None:
        """Ask with `first`, wait `patience` seconds, then force with `last`."""
        self.send(first)
        if not wait_until(lambda: not self.runs(), patience):
            self.send(last)
            wait_until(lambda: not self.runs(), patience)


def _began_linux(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name before the last parenthesis may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    state, began = fields[0], fields[19]
    return None if state in "ZX" else began


def _began_by_ps(pid: int) -> str | None:
    answer = subprocess.run(
        ["ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    return None if not answer or answer.startswith("Z") else answer.partition(" ")[2].strip()


def command_line(pid: int) -> str:
    """The command with its arguments, or an empty text if the process has ended."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    return subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def ends_with_parent(number: signal.Signals) -> Callable[[], None] | None:
    """A `preexec_fn` by which the system sends the child this signal when its parent dies, where it can.

    Linux forgets the request when the process changes its user; subprocess runs `preexec_fn` after that.
    Linux takes the thread that forked as the parent: start such children from the main thread.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def request() -> None:
        prctl(PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:  # it died before the request
            os._exit(1)

    return request
