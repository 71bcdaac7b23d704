"""Programs that install something, run so that whoever waits sees how far they are."""

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from willow_site.launcher.errors import LauncherError
from willow_site.project_folder import PROJECT_FOLDER

SILENCE_SECONDS = 3.0  # after so long without a line, another one says that it goes on
LINES_OF_FAILURE = 20
DOWNLOADING = ("Collecting ", "Downloading ", "Using cached ")
UNPACKING = "Installing collected packages: "


def run_telling(command: list[str], failure: str, *, packages: Path | None = None) -> None:
    """Run the command and tell how far it is; on failure show how it ended.

    `packages` is the folder into which pip installs: pip says nothing while it unpacks there.
    """
    said: list[str] = []
    progress = Progress(packages)
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=PROJECT_FOLDER
        ) as process,
        progress,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            progress.read(line)
    if process.returncode != 0:
        raise LauncherError(f"{failure}:\n{''.join(said[-LINES_OF_FAILURE:])}")


class Progress:
    """Lines about an installation: one for each package that is fetched, then how many are unpacked."""

    def __init__(self, packages: Path | None, tell: Callable[[str], None] | None = None) -> None:
        self._packages = packages
        self._tell = tell or (lambda line: print(line, flush=True))
        self._began = self._last = time.monotonic()
        self._expected = 0  # packages that are being unpacked
        self._before: set[Path] = self._unpacked()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._break_silences, daemon=True)

    def __enter__(self) -> None:
        self._ticker.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._ticker.join()

    def read(self, line: str) -> None:
        """A line that pip has written."""
        if line.startswith(UNPACKING):
            self._expected = line.count(",") + 1
            self._say(f"Unpacking {self._expected} packages")
        elif line.strip().startswith(DOWNLOADING):
            self._say(line.partition(" (from")[0].strip()[:100])

    def so_far(self) -> str:
        seconds = f"{time.monotonic() - self._began:.0f} s"
        if not self._expected:
            return f"still at it ({seconds})"
        done = min(len(self._unpacked() - self._before), self._expected)
        return f"{done} of {self._expected} packages are unpacked ({seconds})"

    def _unpacked(self) -> set[Path]:
        return set(self._packages.glob("*.dist-info")) if self._packages else set()

    def _break_silences(self) -> None:
        while not self._ended.wait(SILENCE_SECONDS):
            if time.monotonic() - self._last >= SILENCE_SECONDS:
                self._say(self.so_far())

    def _say(self, what: str) -> None:
        self._last = time.monotonic()
        self._tell(f"  {what}")
