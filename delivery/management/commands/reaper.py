"""`manage.py reaper`: does what must happen when time passes, until it is stopped."""

import asyncio
import signal
from typing import Any

from django.core.management.base import BaseCommand

from delivery.reaper.loop import Reaper


class Command(BaseCommand):
    help = "Runs the reaper. Any number may run; one at a time is active."
    requires_system_checks: list[str] = []  # they take as long as all else; `migrate` and `check` make them

    def handle(self, *args: Any, **options: Any) -> None:
        asyncio.run(_run_until_stopped())


async def _run_until_stopped() -> None:
    reaper = asyncio.create_task(Reaper().run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, reaper.cancel)
    try:
        await reaper
    except asyncio.CancelledError:
        return
