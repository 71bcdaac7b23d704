"""Which thread this is."""

import asyncio


def runs_here(loop: asyncio.AbstractEventLoop | None) -> bool:
    """Whether this is the thread of a running event loop, and it is that one."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
