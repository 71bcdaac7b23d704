"""Following the journal: one warm session that keeps the facts of the newest minutes fresh.

It begins as a run does, with everything. Then each step computes the minutes that got rows, straight from the journal.
Now and then everything is done again, in a thread of its own, so that minutes don't wait while rows are archived, and
hours and days computed. A kill loses nothing: the next run does what was left.
"""

import threading
import time
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pipeline.beside import Beside
from pipeline.database import connect, sole_run
from pipeline.minutes import MinuteFacts
from pipeline.options import Options
from pipeline.progress import Progress
from pipeline.round import Round
from pipeline.run import everything
from pipeline.runs import Run, recorded
from pipeline.session import share_of
from pipeline.writing.merging import drop_leftovers

ROUND_SHARE = 10  # everything is done again after ten times as long as it took, or later
PAUSE_SECONDS = 0.1  # after each step at least: whoever waits to merge can do so then


@dataclass(frozen=True)
class Pace:
    """Seconds from the beginning of a step to that of the next, and the same for rounds."""

    step: float
    round: float

    def next_round(self, begun: float) -> float:
        """If the last one began then and has ended now."""
        return begun + max(self.round, (time.monotonic() - begun) * ROUND_SHARE)


def follow(spark: SparkSession, options: Options, *, pace: Pace, stopping: threading.Event, progress: Progress) -> None:
    """Until it is told to stop."""
    beside = Beside()
    with connect(options.database_url) as connection, sole_run(connection):
        with recorded(connection, "follow", options) as record:
            begun = time.monotonic()
            drop_leftovers(connection)
            everything(spark, connection, options, record, progress)
            share_of(spark, "minutes")
            assert record.tx_to is not None
            minutes = MinuteFacts(spark, connection, options, past=record.tx_to)
            _step(minutes, record, beside)
            progress.say(f"Everything is up to date after {time.monotonic() - begun:.0f} s; following.")
            _steps(minutes, record, pace, pace.next_round(begun), stopping, beside)
        with minutes:
            while not stopping.is_set():
                with recorded(connection, "follow", options) as record:
                    begun = time.monotonic()
                    with Round(spark, options, record, progress, beside) as whole:
                        while whole.is_alive() and not stopping.is_set():
                            _steps(minutes, record, pace, time.monotonic() + pace.step, stopping, beside)
                    _steps(minutes, record, pace, pace.next_round(begun), stopping, beside)


def _steps(
    minutes: MinuteFacts, record: Run, pace: Pace, until: float, stopping: threading.Event, beside: Beside
) -> None:
    while not stopping.is_set() and time.monotonic() < until:
        begun = time.monotonic()
        _step(minutes, record, beside)
        stopping.wait(max(PAUSE_SECONDS, min(begun + pace.step, until) - time.monotonic()))


def _step(minutes: MinuteFacts, record: Run, beside: Beside) -> None:
    with record.step("minutes"):
        record.facts += minutes.step(beside)
