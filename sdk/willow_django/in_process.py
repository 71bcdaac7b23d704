"""Tasks in processes of their own. This module is imported there before Django is set up."""

from contextvars import copy_context
from typing import Any

import django


class RunTask:
    """A handler that is sent to the process. The worker keeps the task's record; this only runs the task."""

    def __init__(self, soft_time_limit: float | None) -> None:
        self._soft_time_limit = soft_time_limit

    def __reduce__(self) -> tuple[Any, ...]:
        """Django is set up as the handler arrives, before the first task: its time is not the task's."""
        return _set_up, (self._soft_time_limit,)

    def __call__(self, message: Any) -> dict[str, Any]:
        """What it returned, or what it raised: exceptions lose their tracebacks on the way between processes.

        In a context of its own, of which the next task sees nothing.
        """
        from willow_django.job import job_of
        from willow_django.running import run_and_tell

        run = copy_context().run
        return run(run_and_tell, job_of(message), self._soft_time_limit, message.attempt, message.headers)


def _set_up(soft_time_limit: float | None) -> RunTask:
    django.setup()
    from willow_django import running  # noqa: F401 -- it takes a while

    return RunTask(soft_time_limit)
