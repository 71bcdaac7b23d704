"""What a full run costs the broker: the same load before, beside and after it, and the oldest snapshot it held."""

import os
import subprocess
import sys
import threading
import time

import psycopg

from benchmarks.figures import Bar, Figure
from benchmarks.pipeline.journal import archive, fill
from benchmarks.scale import Scale
from benchmarks.scenarios.groups import QUEUE, cycle_on_broker
from benchmarks.stage import Stage
from pipeline.options import Options
from willow_site.project_folder import PROJECT_FOLDER

BODY_BYTES = 100
LOOK_SECONDS = 0.25

OLDEST = """
    SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8 FROM pg_stat_activity
    WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND application_name LIKE 'willow pipeline%'
"""


def run(stage: Stage, scale: Scale) -> list[Figure]:
    fill(stage, scale.journal_rows)
    stage.define(QUEUE)
    beside, alone, took = [], [], []
    oldest = 0.0
    for _ in range(max(1, scale.runs // 2)):
        before = _load(stage, scale.seconds * 3)
        with archive(stage) as options, SnapshotWatch(stage.database_url) as watch:
            rate, seconds = _while_running(stage, scale, options)
        alone.append((before + _load(stage, scale.seconds * 3)) / 2)
        beside.append(rate)
        took.append(seconds)
        oldest = max(oldest, watch.oldest)
    return [
        Figure(
            name=f"post + fetch + finish beside a run over {scale.journal_rows:,} rows",
            unit="messages/s",
            values=beside,
            limits=alone,
            bar=Bar(0.9),
            notes={"seconds of the run": max(took)},
        ),
        Figure(
            name="oldest snapshot that the run held",
            unit="s",
            values=[oldest],
            limits=[30.0],
            bar=Bar(1.0, at_most=True),
        ),
    ]


def _load(stage: Stage, seconds: float) -> float:
    return stage.on_broker(cycle_on_broker, BODY_BYTES, seconds)


def _while_running(stage: Stage, scale: Scale, options: Options) -> tuple[float, float]:
    """The broker's mean rate from the start of a run to its end, and how long that took."""
    environ = {**os.environ, "DATABASE_URL": options.database_url, "WILLOW_PIPELINE_ARCHIVE": options.archive}
    began = time.perf_counter()
    command = [sys.executable, "-m", "pipeline", "run"]
    rates = []
    with subprocess.Popen(command, cwd=PROJECT_FOLDER, env=environ, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            rates.append(_load(stage, scale.seconds))
    if process.returncode != 0:
        raise RuntimeError(f"The run ended with exit code {process.returncode}.")
    return sum(rates) / len(rates), time.perf_counter() - began


class SnapshotWatch:
    """Looks again and again how old the pipeline's oldest snapshot is."""

    def __init__(self, database_url: str) -> None:
        self.oldest = 0.0
        self._url = database_url
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "SnapshotWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            while not self._stopping.wait(LOOK_SECONDS):
                row = connection.execute(OLDEST).fetchone()
                assert row is not None
                self.oldest = max(self.oldest, row[0])
