"""What a message says about its task."""

import json
from typing import Any

from willow_client import GiveUp


def job_of(message: Any) -> dict[str, Any]:
    try:
        job = json.loads(message.text)
        if isinstance(job, dict) and isinstance(job.get("task"), str) and isinstance(job.get("path"), str):
            return job
    except ValueError:
        pass
    raise GiveUp("This message is no task: its body must be what a backend of Django's tasks writes.")
