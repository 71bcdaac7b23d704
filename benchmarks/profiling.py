"""Where the broker's CPU time goes, found by looking into its process while clients keep it busy."""

import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.broker_process import BrokerProcess

SAMPLES_PER_SECOND = 400
PLACES_SHOWN = 15
FUNCTIONS_SHOWN = 20
OWN_APPS = ("delivery", "clients", "queues", "willow_site")

_FRAME = re.compile(r"(?P<function>.+) \((?P<file>[^:()]+)(?::\d+)?\)$")


class Profile:
    """Samples of one scenario. A sample is a stack, written as py-spy does: frames joined by semicolons."""

    def __init__(self) -> None:
        self._stacks: Counter[str] = Counter()
        self._cpu_seconds = 0.0
        self._messages = 0

    @contextmanager
    def watching(self, broker: BrokerProcess) -> Iterator[None]:
        """Look into the broker while the block runs."""
        with tempfile.TemporaryDirectory(prefix="willow-profile-") as folder:
            samples = Path(folder) / "samples"
            watcher = subprocess.Popen(
                [
                    *(str(Path(sys.executable).with_name("py-spy")), "record", "--nonblocking"),
                    *("--pid", str(broker.pid), "--rate", str(SAMPLES_PER_SECOND)),
                    *("--format", "raw", "--output", str(samples)),
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            cpu_before = broker.cpu_seconds()
            yield
            self._cpu_seconds += broker.cpu_seconds() - cpu_before
            watcher.send_signal(signal.SIGINT)
            watcher.wait()
            self._add(samples.read_text())

    def count(self, messages: int) -> None:
        self._messages += messages

    def _add(self, text: str) -> None:
        for line in text.splitlines():
            stack, _, samples = line.rpartition(" ")
            self._stacks[stack] += int(samples)

    def print(self) -> None:
        per_message = self._cpu_seconds * 1e6 / max(self._messages, 1)
        print(f"  CPU of the broker: {per_message:.1f} µs per message, over {self._messages:,} messages")
        self._print_table("by place", Counter(), PLACES_SHOWN, per_message, _place)
        self._print_table("by function", Counter(), FUNCTIONS_SHOWN, per_message, _function)
