"""A limit that a task cannot do anything about."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TimeLimitExceeded(Exception):
    """The task has run for longer than the worker's --time-limit."""


@asynccontextmanager
async def time_limit(seconds: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise TimeLimitExceeded(f"The task ran for more than {seconds:g} seconds.") from None
        raise
