"""`manage.py serve`: one broker process, configured by the environment alone."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from willow_site.event_loop import use_uvloop
from willow_site.listening import PortTakenError, bound_socket


class Command(BaseCommand):
    help = "Serves HTTP and WebSockets in this process until SIGTERM, then drains and exits."

    def handle(self, *args: Any, **options: Any) -> None:
        configuration = settings.WILLOW
        try:
            listening = bound_socket(configuration.bind, configuration.port, shared=configuration.processes > 1)
        except PortTakenError as error:
            raise CommandError(str(error)) from None
        use_uvloop()
        # Only now: these import Twisted's reactor and the models.
        from delivery.node import life
        from willow_site.asgi import application
        from willow_site.broker_server import BrokerServer

        BrokerServer(application, listening, configuration).serve(start=life.start, drain=life.drain)
