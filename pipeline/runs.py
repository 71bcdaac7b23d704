"""The record of runs in PostgreSQL, for the console and for `./willow pipeline status`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from pipeline.database import Connection, let_statement_end, value
from pipeline.failures import explained
from pipeline.lineage import Lineage
from pipeline.options import Options

RUNS_KEPT = 1000

END = """
    UPDATE willow_pipeline_runs
    SET state = %s, tx_from = %s, tx_to = %s, rows = %s, bytes = %s, facts = %s, days = %s, steps = %s, error = %s,
        ended_at = now()
    WHERE id = %s
"""


@dataclass
class Run:
    """What a run has done so far."""

    tx_from: int | None = None
    tx_to: int | None = None
    rows: int = 0
    bytes: int = 0  # of the files that were archived
    facts: int = 0
    days: set[date] = field(default_factory=set)
    verified: list[date] = field(default_factory=list)
    compacted: list[date] = field(default_factory=list)
    findings: int = 0
    faults: dict[str, int] = field(default_factory=dict)  # rows that were odd, by what was odd about them
    steps: dict[str, float] = field(default_factory=dict)  # seconds that each step took

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure a step; it may have several parts."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.steps[name] = round(self.steps.get(name, 0.0) + time.monotonic() - begun, 3)


@contextmanager
def recorded(connection: Connection, command: str, options: Options) -> Iterator[Run]:
    """Write down that a run is under way, and how it ended; tell of it, if somebody wants to know."""
    _forget_killed(connection)
    lineage = Lineage(options.lineage, options, command)
    lineage.tell("START")
    number = value(
        connection,
        "INSERT INTO willow_pipeline_runs (command, state) VALUES (%s, 'running') RETURNING id",
        command,
    )
    run = Run()
    try:
        yield run
    except BaseException as error:
        with suppress(psycopg.Error):  # the failure that was first says more
            let_statement_end(connection)
        _try_to_end(connection, number, run, "failed", _sentence(error))
        lineage.tell("FAIL" if isinstance(error, Exception) else "ABORT", facts=_told(run), error=_sentence(error))
        raise
    _try_to_end(connection, number, run, "done", "")
    lineage.tell("COMPLETE", facts=_told(run))


def _told(run: Run) -> dict[str, Any]:
    return {"rows": run.rows, "bytes": run.bytes, "facts": run.facts, "seconds": run.steps}


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "It was stopped."
    return str(explained(error))[:2000] if isinstance(error, Exception) else type(error).__name__


def _try_to_end(connection: Connection, number: int, run: Run, state: str, error: str) -> None:
    try:
        counts = [run.tx_from, run.tx_to, run.rows, run.bytes, run.facts]
        connection.execute(END, [state, *counts, sorted(run.days), Jsonb(run.steps), error, number])
    except psycopg.OperationalError:
        if state == "done":
            raise  # otherwise the failure that was first says more


def _forget_killed(connection: Connection) -> None:
    """One run at a time: whatever else says that it is running was killed. Old runs are of no interest."""
    connection.execute(
        "UPDATE willow_pipeline_runs SET state = 'failed', ended_at = now(), error = 'It was killed.'"
        " WHERE state = 'running'"
    )
    connection.execute(
        "DELETE FROM willow_pipeline_runs WHERE id <= (SELECT max(id) FROM willow_pipeline_runs) - %s", [RUNS_KEPT]
    )
