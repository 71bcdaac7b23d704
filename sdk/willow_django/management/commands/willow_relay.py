"""`manage.py willow_relay`: brings the posts of committed transactions to the broker; run as many as you like."""

import logging
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import Error, connections
from willow_client import WillowError, sync

from willow_django.conf import willow_settings
from willow_django.connections import blocking_client
from willow_django.relaying import relay_all, take_up_again

logger = logging.getLogger("willow_django")

SHORTEST_PAUSE = 0.05  # seconds between two looks while posts come
LONGEST_PAUSE = 5.0  # while the broker or the database is gone


class Command(BaseCommand):
    help = "Brings posts that transactions left in the outbox to the broker, until SIGTERM or SIGINT."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="bring what waits now, and end")
        parser.add_argument("--again", action="store_true", help="first take up again what the broker has refused")
        parser.add_argument("--poll", type=float, default=1.0, help="seconds between two looks while nothing comes (1)")

    def handle(self, *args: Any, **options: Any) -> None:
        settings = willow_settings()
        client = blocking_client()
        if options["again"]:
            self.stdout.write(f"Taking up {take_up_again(settings.database)} posts again")
        if options["once"]:
            relay_all(client, settings.database)
            return
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        self.stdout.write(f"Relaying posts of the database {settings.database} to {settings.url}")
        self._run(client, settings.database, options["poll"], stopped)

    def _run(self, client: sync.Client, database: str, poll: float, stopped: threading.Event) -> None:
        pause = SHORTEST_PAUSE
        while not stopped.is_set():
            try:
                brought = relay_all(client, database, stopped.is_set)
                pause = 0.0 if brought else min(max(2 * pause, SHORTEST_PAUSE), poll)
            except (WillowError, Error) as error:
                logger.warning("Posts wait in the outbox: %s", error)
                connections[database].close()
                pause = min(max(2 * pause, SHORTEST_PAUSE), LONGEST_PAUSE)
            stopped.wait(pause)
