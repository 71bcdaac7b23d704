"""`manage.py pipeline_schedule`: runs the data pipeline now and then. Any number may run; one of them works."""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from pipeline.command import ALREADY_RUNNING
from willow_site.launcher.pipeline import pipeline_environ
from willow_site.processes import ends_with_parent
from willow_site.project_folder import PROJECT_FOLDER

ONE_ACTIVE_SCHEDULE = 7_719_455_671  # the advisory lock's number; 69 is the reaper's, 70 a run's
LOOK_SECONDS = 5.0  # how often a second schedule looks whether the first is gone


class Command(BaseCommand):
    help = "Runs the data pipeline every WILLOW_PIPELINE_MINUTES, one run at a time in the whole cluster."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="run once and exit")

    def handle(self, *args: Any, **options: Any) -> None:
        if importlib.util.find_spec("pyspark") is None:
            raise CommandError("PySpark is not installed. Run `./willow pipeline status` once to install it.")
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        while not stopping.is_set():
            try:
                self._work_while_connected(stopping, once=options["once"])
                return
            except psycopg.OperationalError as error:
                self.stderr.write(f"The schedule lost the database: {error}")
                stopping.wait(LOOK_SECONDS)

    def _work_while_connected(self, stopping: threading.Event, *, once: bool) -> None:
        with psycopg.connect(settings.WILLOW.database_url, autocommit=True) as connection:
            while not _became_active(connection):
                if once:
                    self.stdout.write("Another schedule is running the pipeline; this run is skipped.")
                    return
                if stopping.wait(LOOK_SECONDS):
                    return
            while not stopping.is_set():
                code = self._run(stopping)
                if once and code not in (0, ALREADY_RUNNING) and not stopping.is_set():
                    raise CommandError("The run failed.", returncode=code)
                if once or stopping.wait(settings.WILLOW.pipeline_minutes * 60):
                    return
                connection.execute("SELECT 1")  # raises if the lock went with the connection

    def _run(self, stopping: threading.Event) -> int:
        """One run; its exit code."""
        environ = {**os.environ, **pipeline_environ(settings.WILLOW)}
        command = [sys.executable, "-m", "pipeline", "run"]
        with subprocess.Popen(
            command, cwd=PROJECT_FOLDER, env=environ, preexec_fn=ends_with_parent(signal.SIGTERM)
        ) as process:
            while process.poll() is None:
                if stopping.wait(0.5):
                    process.terminate()  # what it has begun, the next run takes up
                    break
        if process.returncode == ALREADY_RUNNING:
            self.stdout.write("Another run is in progress; this run is skipped.")
        elif process.returncode != 0 and not stopping.is_set():
            self.stderr.write(f"The run ended with exit code {process.returncode}; the next run tries again.")
        return process.returncode


def _became_active(connection: psycopg.Connection[Any]) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", [ONE_ACTIVE_SCHEDULE]).fetchone()
    return bool(row and row[0])
