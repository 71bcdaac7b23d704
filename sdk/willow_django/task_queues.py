"""The broker's queues of tasks. How often a task is tried is the task's own business, so its queue has to allow it."""

import logging
from typing import Any

from django.conf import settings
from willow_client import PermissionDenied, Unauthorized, WillowError, sync

from willow_django.conf import WillowSettings, willow_settings

logger = logging.getLogger("willow_django")

MOST_ATTEMPTS = 1000  # that a queue allows; the worker gives up earlier, as the task says
MAKING_SECONDS = 5.0

_made: set[tuple[WillowSettings, str]] = set()


def make_once(client: sync.Client, backend: Any, queue: str, *, tries_again: bool = True) -> None:
    """Before the first post makes it, with the broker's defaults, which allow three attempts and hold no group back.

    If that is not possible now, the worker keeps to what the queue allows. `tries_again`: with the next task; not in
    transactions, which would wait again and again for a broker that is away.
    """
    wanted = (willow_settings(), queue)
    if wanted in _made:
        return
    _made.add(wanted)
    how: dict[str, Any] = {"retry_limit": MOST_ATTEMPTS}
    if backend.group_in_flight is not None:
        how["group_in_flight"] = backend.group_in_flight
    try:
        made = client.create(queue, timeout=MAKING_SECONDS, **how)
    except WillowError as error:
        if isinstance(error, PermissionDenied) and not isinstance(error, Unauthorized):
            return  # a key that may only post
        logger.warning("The queue %s of tasks could not be made: %s", queue, error)
        if tries_again:
            _made.discard(wanted)
    else:
        if backend.group_in_flight is not None and made.group_in_flight != backend.group_in_flight:
            logger.warning(
                "The queue %s was made before, with a group_in_flight of %s: set it to %d",
                queue, made.group_in_flight, backend.group_in_flight,
            )  # fmt: skip


def backend_of(queue: str) -> Any:
    """Whose tasks these are, or None."""
    return next((backend for backend in _backends() if _has(backend, queue)), None)


def _backends() -> list[Any]:
    """Those of Willow. None where there are no tasks: neither in Django nor by the package."""
    if not hasattr(settings, "TASKS"):
        return []
    from willow_django.tasks import WillowBackend
    from willow_django.tasks_api import task_backends

    found = [task_backends[alias] for alias in settings.TASKS]
    return [backend for backend in found if isinstance(backend, WillowBackend)]


def _has(backend: Any, queue: str) -> bool:
    """Without QUEUES, a backend has all of its prefix."""
    if backend.queues:
        return queue in {backend.queue_of(name) for name in backend.queues}
    return bool(backend.prefix) and queue.startswith(backend.prefix)
