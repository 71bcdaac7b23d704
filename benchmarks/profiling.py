"""Where the broker's CPU time goes, found by looking into its process while clients keep it busy."""

import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import sub
from pathlib import Path

from benchmarks.broker_process import BrokerProcess

SAMPLES_PER_SECOND = 400
LINES_SHOWN = 20
OWN_APPS = ("delivery", "clients", "queues", "willow_site")

_FRAME = re.compile(r"(?P<function>.+) \((?P<file>[^:()]+)(?::\d+)?\)$")


class Profile:
    """What one scenario costs the broker. A sample is a stack as py-spy writes it: frames joined by semicolons."""

    def __init__(self) -> None:
        self._stacks: Counter[str] = Counter()
        self._cpu_seconds = 0.0
        self._messages = 0

    @contextmanager
    def watching(self, broker: BrokerProcess, message_counts: Callable[[], Sequence[int]]) -> Iterator[None]:
        """Look into the broker while the block runs. Of the counts, the one that grows most is what it works on."""
        with tempfile.TemporaryDirectory(prefix="willow-profile-") as folder:
            samples = Path(folder) / "samples"
            cpu_before, counts_before = broker.cpu_seconds(), message_counts()
            watcher = _start_watcher(broker.pid, samples)
            yield
            self._cpu_seconds += broker.cpu_seconds() - cpu_before
            self._messages += max(map(sub, message_counts(), counts_before))
            watcher.send_signal(signal.SIGINT)
            watcher.wait()
            self._add(samples.read_text())

    def _add(self, text: str) -> None:
        for line in text.splitlines():
            stack, _, samples = line.rpartition(" ")
            self._stacks[stack] += int(samples)

    def print(self) -> None:
        if not self._messages:
            return
        print(f"    the broker's CPU time: {self._per_message():.1f} µs per message ({self._messages:,} messages)")
        self._print_shares("by place", _place)
        self._print_shares("by function", _function)

    def _per_message(self) -> float:
        """Microseconds."""
        return self._cpu_seconds * 1e6 / self._messages

    def _print_shares(self, title: str, name_of: Callable[[str], str]) -> None:
        """Of the innermost frames: what called them had no part in it."""
        shares: Counter[str] = Counter()
        for stack, samples in self._stacks.items():
            shares[name_of(stack.rpartition(";")[2])] += samples
        print(f"    {title}:")
        for name, samples in shares.most_common(LINES_SHOWN):
            share = samples / shares.total()
            print(f"      {share:6.1%} {share * self._per_message():7.1f} µs  {name}")


def _start_watcher(pid: int, samples: Path) -> subprocess.Popen[bytes]:
    # Non-blocking: it would otherwise stop the broker for each sample.
    command = [str(Path(sys.executable).with_name("py-spy")), "record", "--nonblocking", "--gil", "--pid", str(pid)]
    command += ["--rate", str(SAMPLES_PER_SECOND), "--format", "raw", "--output", str(samples)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _place(frame: str) -> str:
    """The file for code of ours, the package for others'."""
    parsed = _FRAME.match(frame)
    if parsed is None:
        return frame
    file = parsed["file"]
    return file if file.startswith(OWN_APPS) else file.partition("/")[0]


def _function(frame: str) -> str:
    parsed = _FRAME.match(frame)
    return f"{parsed['function']} ({parsed['file']})" if parsed else frame
