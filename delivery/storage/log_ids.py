"""What tells in a log which command a line is about: numbers and labels, never a body."""

from typing import Any


def command_ids(request: Any) -> dict[str, Any]:
    """For `extra=` of a log line about one request of a lane; only looked for when something went wrong."""
    command, poster = getattr(request, "command", None), getattr(request, "poster", None)
    found = {
        "session": getattr(poster, "session_id", None) or getattr(request, "holder", None),
        "label": getattr(command, "label", None),
        "shard": getattr(request, "queue_id", None),
        "sequence": getattr(request, "sequence", None),
    }
    return {name: value for name, value in found.items() if value is not None}
