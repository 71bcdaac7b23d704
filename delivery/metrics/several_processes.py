"""The figures of processes that share a port: a scrape reaches any one of them, and it answers for all.

Each writes what it counted to a file in the home every `WILLOW_METRICS_SECONDS`, and the one that is asked reads the
files of all, its own included: a counter must not go back when the next scrape is answered by a process that knows an
older value. For the same reason the figures of the cluster are in a file, which one process at a time renews.

The node's name is on every sample of a process, so nothing is added up and nothing can be counted twice.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from delivery.metrics.families import Families
from delivery.metrics.of_cluster import read_cluster
from delivery.metrics.of_process import process_families
from delivery.node.poll import every

if TYPE_CHECKING:
    from delivery.node.node import Node

STALE_INTERVALS = 3  # without a new file, after which a process counts as gone
LOOK_SECONDS = 0.05  # between two looks whether another process has read the cluster's figures


class SeveralProcesses:
    async def families(self, node: "Node") -> list[Metric]:
        willow = settings.WILLOW
        if _read(_file(willow.process_number)) is None:
            write_own(node)
        return [*_of_processes(), *await _of_cluster()]


class OwnFile:
    """Runs beside the node: writes the file of this process, and removes it when the node has left."""

    def run(self, node: "Node") -> Coroutine[Any, Any, None]:
        async def write() -> None:
            write_own(node)

        return every(settings.WILLOW.metrics_seconds, write)

    def node_has_left(self) -> None:
        _file(settings.WILLOW.process_number).unlink(missing_ok=True)


def write_own(node: "Node") -> None:
    _write(_file(settings.WILLOW.process_number), list(process_families(node)), good_until=time.time())


def _of_processes() -> Iterator[Metric]:
    """Of those that are alive."""
    willow = settings.WILLOW
    patience = max(STALE_INTERVALS * willow.metrics_seconds, willow.node_lapse)
    for number in range(willow.processes):
        text = _read(_file(number), patience)
        yield from text_string_to_metric_families(text or "")


async def _of_cluster() -> list[Metric]:
    """By whichever process has the lock; the others wait for what it finds."""
    file = _file("cluster")
    while True:
        with _locked(file) as is_ours:
            if (text := _read(file)) is not None:
                return list(text_string_to_metric_families(text))
            if is_ours:
                reading = await read_cluster()
                _write(file, reading.families, good_until=time.time() + reading.good_seconds)
                return reading.families
        await asyncio.sleep(LOOK_SECONDS)


# files: the time of their last change is until when they are good


def _file(name: int | str) -> Path:
    home: Path = settings.WILLOW.home
    return home / "metrics" / f"{settings.WILLOW.port}-{name}.txt"


def _read(file: Path, patience: float = 0.0) -> str | None:
    """None if it is not there, or not good any more."""
    try:
        return file.read_text() if file.stat().st_mtime + patience >= time.time() else None
    except FileNotFoundError:
        return None


def _write(file: Path, families: list[Metric], *, good_until: float) -> None:
    """In one step: a reader never finds half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_bytes(generate_latest(Families(families)))
    os.utime(draft, (good_until, good_until))
    draft.replace(file)


@contextmanager
def _locked(file: Path) -> Iterator[bool]:
    """Whether this process has the lock; it never waits for it. A process that dies gives it back."""
    with file.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
