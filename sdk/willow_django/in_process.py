"""Tasks in processes of their own. This module is imported there before Django is set up."""

from typing import Any

import django


class InProcess:
    """A handler that is sent to the process."""

    def __init__(self, soft_time_limit: float | None) -> None:
        self._soft_time_limit = soft_time_limit

    def __call__(self, message: Any) -> None:
        django.setup()
        from willow_django.job import job_of
        from willow_django.running import run_blocking

        run_blocking(job_of(message), self._soft_time_limit)
