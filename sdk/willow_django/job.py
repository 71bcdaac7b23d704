"""What a message says about its task."""

import json
from typing import Any

from willow_client import GiveUp

from willow_django.tasks import ID_LENGTH


def job_of(message: Any) -> dict[str, Any]:
    try:
        job = json.loads(message.text)
        if isinstance(job, dict) and _can_be_an_id(job.get("task")) and isinstance(job.get("path"), str):
            return job
    except ValueError:
        pass
    raise GiveUp("This message is no task: its body must be what a backend of Django's tasks writes.")


def _can_be_an_id(given: Any) -> bool:
    """Others are found by the same statement, and for a NUL or half of a character PostgreSQL would refuse them all."""
    return isinstance(given, str) and len(given) <= ID_LENGTH and given.isprintable()
