"""Processes that are kept running."""

import asyncio
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from willow_site.processes import ProcessIdentity, ends_with_parent
from willow_site.project_folder import PROJECT_FOLDER

FIRST_DELAY = 0.2  # seconds before a process that has ended is started again; doubles each time
LONGEST_DELAY = 10.0  # seconds
STABLE_SECONDS = 30.0  # a process that ran this long begins with the first delay again


class SupervisedProcess:
    """A process that is started again whenever it ends, until it is told to stop."""

    def __init__(self, name: str, command: list[str], environ: Mapping[str, str], pid_folder: Path) -> None:
        self.name = name
        self.failures = 0
        self._command = command
        self._environ = environ
        self._pid_file = pid_folder / name.replace(" ", "-")
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._keeper = asyncio.create_task(self._keep_running())

    async def stop(self, patience: float) -> None:
        """Ask it to end and wait; after `patience` seconds end it by force."""
        self._stopping.set()
        if self._process and self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), patience)
            except TimeoutError:
                print(f"The {self.name} did not stop within {patience:g} seconds and was killed.", flush=True)
                self._process.kill()
        if self._keeper:
            await self._keeper
        self._pid_file.unlink(missing_ok=True)

    def send(self, number: signal.Signals) -> None:
        """Between two runs there is nobody to tell."""
        if self._process and self._process.returncode is None:
            self._process.send_signal(number)

    async def _keep_running(self) -> None:
        delay = FIRST_DELAY
        while not self._stopping.is_set():
            began = time.monotonic()
            exit_code = await self._run_once()
            if self._stopping.is_set():
                return
            if time.monotonic() - began > STABLE_SECONDS:
                delay = FIRST_DELAY
            self.failures += 1
            print(f"The {self.name} {_how_it_ended(exit_code)} and will be restarted in {delay:g} s.", flush=True)
            await self._pause(delay)
            delay = min(delay * 2, LONGEST_DELAY)

    async def _run_once(self) -> int:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            env=dict(self._environ),
            cwd=PROJECT_FOLDER,
            # Ctrl-C in the terminal is for the launcher, which stops everything in order.
            start_new_session=True,
            preexec_fn=ends_with_parent(signal.SIGTERM),
        )
        identity = ProcessIdentity.of(self._process.pid)
        if identity:
            identity.write(self._pid_file)
        return await self._process.wait()

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return


def end_orphans(pid_folder: Path, *, patience: float) -> list[str]:
    """End what a killed launcher has left behind on the same home, and return the names.

    On Linux its processes end with it; elsewhere, and in the moment before they do, they hold the port.
    """
    ended = []
    for file in sorted(pid_folder.iterdir()):
        process = ProcessIdentity.read(file)
        if process and process.runs():
            process.end(signal.SIGTERM, patience=patience)
            ended.append(file.name)
        file.unlink()
    return ended


def _how_it_ended(exit_code: int) -> str:
    if exit_code < 0:
        return f"was killed by {signal.Signals(-exit_code).name}"
    return f"ended with exit code {exit_code}"
