"""Servers of peers that are started as a plain program, where they are installed."""

import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from willow_site.processes import ends_with_parent, wait_until

START_SECONDS = 120  # on a busy machine Erlang takes its time


class NotRunError(Exception):
    """The peer cannot take part; the message says why."""


def not_on_path(program: str, package: str) -> str | None:
    """The command that installs a program of Debian's, if it is not there."""
    return None if shutil.which(program) else f"apt-get install {package}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: Sequence[str], port: int, environ: Mapping[str, str] | None = None) -> Iterator[None]:
    """The program runs and listens on the port."""
    with subprocess.Popen(
        command,
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=ends_with_parent(signal.SIGTERM),
    ) as process:
        try:
            if not wait_until(lambda: listens(port), START_SECONDS):
                raise NotRunError(f"{command[0]} did not listen within {START_SECONDS} seconds")
            yield
        finally:
            process.terminate()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
