"""Processes that share a port: a scrape reaches any one of them, and it answers for all.

Each writes its own figures to a file in the home every `WILLOW_METRICS_SECONDS`, and takes those of the others from
theirs. The node's name is on every sample, so nothing is added up and nothing can be counted twice.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from delivery.metrics.of_process import process_families

if TYPE_CHECKING:
    from delivery.node import Node

STALE_INTERVALS = 3  # without a new file, after which a process counts as gone


class Families:
    """What prometheus_client takes for a registry."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def write_own(node: "Node") -> None:
    """At one stroke: whoever reads it never finds half of it."""
    file = _file(settings.WILLOW.process_number)
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_bytes(generate_latest(Families(list(process_families(node)))))
    draft.replace(file)


def remove_own() -> None:
    _file(settings.WILLOW.process_number).unlink(missing_ok=True)


def sibling_families() -> Iterator[Metric]:
    """Of the other processes on this port, as far as they are alive."""
    willow = settings.WILLOW
    oldest = time.time() - max(STALE_INTERVALS * willow.metrics_seconds, willow.node_lapse)
    for number in range(willow.processes):
        if number == willow.process_number:
            continue
        try:
            if _file(number).stat().st_mtime < oldest:
                continue
            text = _file(number).read_text()
        except FileNotFoundError:
            continue
        yield from text_string_to_metric_families(text)


def _file(process_number: int) -> Path:
    home: Path = settings.WILLOW.home
    return home / "metrics" / f"{settings.WILLOW.port}-{process_number}.txt"
