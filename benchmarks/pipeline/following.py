"""What following costs the broker, and how fresh it keeps the minutes' facts: the same load alone and beside, by turns.

A program posts and finishes a probe every second. How many probes have ended, and when, is known; how many the facts
count, is read. The oldest probe that ended and is not counted says how far the facts are behind.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import psycopg
from willow_client import sync

from benchmarks.alternation import alternate
from benchmarks.figures import Bar, Figure
from benchmarks.pipeline.beside_broker import BODY_BYTES
from benchmarks.pipeline.journal import archive
from benchmarks.scale import Scale
from benchmarks.scenarios.groups import QUEUE, cycle_on_broker
from benchmarks.stage import Stage
from pipeline.options import Options
from willow_site.project_folder import PROJECT_FOLDER

PROBES = "probes"
PROBE_SECONDS = 1.0
FRESH_SECONDS = 30.0
LEAD_IN_SECONDS = 10.0
ROUND_MINUTES = "1"  # how often hours and days are computed: often, so that a measurement has such rounds in it

COUNTED = "SELECT coalesce(sum(finished), 0)::bigint FROM willow_queue_facts WHERE grain = 'minute' AND queue_name = %s"


def run(stage: Stage, scale: Scale) -> Iterator[Figure]:
    stage.define(QUEUE)
    behind: list[float] = []

    def alone() -> float:
        _lead_in(stage)
        return _load(stage, scale.follow_seconds / 2)

    def beside() -> float:
        _lead_in(stage)
        with archive(stage) as options, Following(options), Probes(stage.broker.url, options.database_url) as probes:
            rate = _load(stage, scale.follow_seconds)
        behind.append(probes.most_behind)
        return rate

    alones, besides = alternate(scale.follow_runs, alone, beside)
    yield Figure(
        name="post + fetch + finish beside `follow`", unit="messages/s", values=besides, limits=alones, bar=Bar(0.9)
    )
    yield Figure(
        name="minutes' facts were behind, at most",
        unit="s",
        values=[max(behind)],
        limits=[FRESH_SECONDS],
        bar=Bar(1.0, at_most=True),
    )


def _lead_in(stage: Stage) -> None:
    """Begin both with tables that were used for a while, and a journal on which `follow` can warm up."""
    stage.clear()
    _load(stage, LEAD_IN_SECONDS)


def _load(stage: Stage, seconds: float) -> float:
    return stage.on_broker(cycle_on_broker, BODY_BYTES, seconds)


class Following:
    """`follow` in a process of its own, from when it has caught up until it is stopped."""

    def __init__(self, options: Options) -> None:
        where = {"DATABASE_URL": options.database_url, "WILLOW_PIPELINE_ARCHIVE": options.archive}
        self._environ = {**os.environ, **where, "WILLOW_PIPELINE_MINUTES": ROUND_MINUTES}

    def __enter__(self) -> None:
        command = [sys.executable, "-m", "pipeline", "follow"]
        self._process = subprocess.Popen(
            command, cwd=PROJECT_FOLDER, env=self._environ, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        if not any("following" in line for line in self._process.stdout):
            raise RuntimeError(f"`follow` ended with exit code {self._process.wait()}.")

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate()


class Probes:
    """Ends a probe every second, and looks which of them the facts count."""

    def __init__(self, broker_url: str, database_url: str) -> None:
        self.most_behind = 0.0
        self._ended_at: list[float] = []
        self._broker_url, self._database_url = broker_url, database_url
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Probes":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with sync.connect(self._broker_url) as willow, psycopg.connect(self._database_url, autocommit=True) as facts:
            while not self._stopping.wait(PROBE_SECONDS):
                willow.post(PROBES, "probe")
                message = willow.fetch(PROBES, block_timeout=10)
                assert message is not None
                message.finish()
                self._ended_at.append(time.monotonic())
                row = facts.execute(COUNTED, [PROBES]).fetchone()
                assert row is not None
                if row[0] < len(self._ended_at):
                    self.most_behind = max(self.most_behind, time.monotonic() - self._ended_at[row[0]])
