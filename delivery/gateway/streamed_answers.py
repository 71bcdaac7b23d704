"""Answers over HTTP that are sent while they are still being read."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async


async def as_they_come(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Each part is read in a thread, and sent before the next one is read.

    With an ordinary iterator, Django would collect all of it in memory first.
    """
    next_part = sync_to_async(lambda: next(parts, None))
    while (part := await next_part()) is not None:
        yield part
