"""Migrations with progress: a few lines for whoever waits, however many there are."""

import time
from collections.abc import Callable
from typing import Any

from django.core.management import call_command
from django.core.management.commands import migrate as django_migrate
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

LINE_SECONDS = 2.0  # a line at most so often

Tell = Callable[[str], Any]


class Migrate(django_migrate.Command):
    """Django's command, silent but for how far it is."""

    def __init__(self, tell: Tell, planned: int) -> None:
        super().__init__()
        self._tell = tell
        self._planned = planned
        self._applied = 0
        self._last = time.monotonic()

    def migration_progress_callback(self, action: str, migration: Any = None, fake: bool = False) -> None:
        if action != "apply_success":
            return
        self._applied += 1
        if time.monotonic() - self._last >= LINE_SECONDS:
            self._last = time.monotonic()
            self._tell(f"  {self._applied} of {self._planned} migrations are done")


def migrate(tell: Tell) -> None:
    """Bring the database up to date; silent if it is."""
    executor = MigrationExecutor(connection)
    planned = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if planned:
        tell(f"Bringing the database up to date: {planned} migration{'' if planned == 1 else 's'}.")
    call_command(Migrate(tell, planned), interactive=False, verbosity=0)
