"""`manage.py willow_worker`: runs tasks."""

import asyncio
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.autoreload import run_with_reloader
from willow_client import WillowError

from willow_django.connections import blocking_client
from willow_django.task_queues import make_once
from willow_django.tasks import WillowBackend
from willow_django.tasks_api import task_backends
from willow_django.worker import WorkerPlan, work


def _above_zero(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise ValueError
    return seconds


_above_zero.__name__ = "number above 0"


class Command(BaseCommand):
    help = "Runs tasks until SIGTERM or SIGINT; then it takes no more, finishes what runs and gives back the rest."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--queues", default="default", help="of tasks, separated by commas (default)")
        parser.add_argument("--backend", default="default", help="which of TASKS (default)")
        parser.add_argument("--concurrency", type=int, default=8, help="tasks of each queue at a time (8)")
        parser.add_argument("--prefetch", type=int, help="tasks of each queue that wait here (as it fits)")
        parser.add_argument("--run-in", choices=["thread", "process"], default="thread", help="blocking tasks (thread)")
        parser.add_argument("--soft-time-limit", type=_above_zero, help="seconds until SoftTimeLimitExceeded is raised")
        parser.add_argument("--time-limit", type=_above_zero, help="seconds after which an attempt has failed")
        parser.add_argument("--drain-timeout", type=_above_zero, default=30.0, help="seconds to finish at the end (30)")
        parser.add_argument("--health-file", type=Path, help="is touched while the worker is connected")
        parser.add_argument("--health-port", type=int, help="answers HTTP: 200 while the worker is connected, else 503")
        parser.add_argument("--reload", action="store_true", help="start again when code changes, for development")

    def handle(self, *args: Any, **options: Any) -> None:
        backend = task_backends[options["backend"]]
        if not isinstance(backend, WillowBackend):
            raise CommandError(f"TASKS[{options['backend']!r}] is no WillowBackend.")
        queues = [name.strip() for name in options["queues"].split(",") if name.strip()]
        unknown = [name for name in queues if backend.queues and name not in backend.queues]
        if unknown or not queues:
            known = ", ".join(sorted(backend.queues))
            raise CommandError(f"--queues must name queues of TASKS[{options['backend']!r}]: {known}.")
        if options["concurrency"] < 1:
            raise CommandError("--concurrency must be 1 or more.")
        if options["prefetch"] is not None and options["prefetch"] < 0:
            raise CommandError("--prefetch must be 0 or more.")
        plan = WorkerPlan(
            queues=queues,
            concurrency=options["concurrency"],
            prefetch=options["prefetch"],
            run_in=options["run_in"],
            soft_time_limit=options["soft_time_limit"],
            time_limit=options["time_limit"],
            drain_timeout=options["drain_timeout"],
            health_file=options["health_file"],
            health_port=options["health_port"],
            has_process=not options["reload"],
        )
        if options["reload"]:
            run_with_reloader(self._run_until_code_changes, backend, plan)
        else:
            self._run(backend, plan)

    def _run_until_code_changes(self, backend: WillowBackend, plan: WorkerPlan) -> None:
        """In a thread of Django's reloader, which goes on watching also after an error."""
        try:
            self._run(backend, plan)
        except CommandError as error:
            self.stderr.write(f"{error} Change some code, and it is tried again.")

    def _run(self, backend: WillowBackend, plan: WorkerPlan) -> None:
        self.stdout.write(f"Working on tasks of {', '.join(plan.queues)}, {plan.concurrency} at a time")
        if backend.group_in_flight is not None:
            for name in plan.queues:
                make_once(blocking_client(), backend, backend.queue_of(name))
            blocking_client().close()
        try:
            asyncio.run(work(backend, plan))
        except WillowError as error:
            raise CommandError(str(error)) from None
