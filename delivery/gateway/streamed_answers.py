"""Answers over HTTP that are sent while they are still being read."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.db import connections


async def as_they_come(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Each part is read from the database in a thread, and sent before the next one is read.

    With an ordinary iterator, Django would collect all of it in memory first.
    """
    while (part := await sync_to_async(_next_part)(parts)) is not None:
        yield part


def _next_part(parts: Iterator[bytes]) -> bytes | None:
    try:
        return next(parts, None)
    finally:
        connections.close_all()  # the thread may be another one the next time, and ends with the answer
