"""Work on Django's connection runs from its beginning to its end, or says that it cannot."""

import asyncio

import pytest

from delivery.storage.on_django import _run


def test_what_waits_for_nothing_gives_its_result() -> None:
    async def inner() -> int:
        return 2

    async def work() -> int:
        return await inner() + 1

    assert _run(work()) == 3


def test_what_would_wait_for_an_event_loop_is_refused() -> None:
    async def work() -> None:
        await asyncio.sleep(0)  # gives the turn to the loop

    with pytest.raises(RuntimeError, match="may not wait"):
        _run(work())
