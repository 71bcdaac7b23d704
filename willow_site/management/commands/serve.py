"""`manage.py serve`: one broker process, configured by the environment alone."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from willow_site.listening import PortTakenError, bound_socket
from willow_site.server import event_loop
from willow_site.setting_declaration import ConfigurationError


class Command(BaseCommand):
    help = "Serves HTTP and WebSockets in this process until SIGTERM, then drains and exits."
    requires_system_checks: list[str] = []  # they take as long as all else; `migrate` and `check` make them

    def handle(self, *args: Any, **options: Any) -> None:
        configuration = settings.WILLOW
        try:
            listening = bound_socket(configuration.bind, configuration.port, shared=configuration.processes > 1)
        except PortTakenError as error:
            raise CommandError(str(error)) from None
        loop = event_loop.choose(plain=configuration.plain_daphne)
        # Only now: these import Twisted's reactor and the models.
        from delivery.node import life
        from willow_site.asgi import application
        from willow_site.server.broker_server import BrokerServer
        from willow_site.server.plain_server import PlainServer

        try:
            server = (PlainServer if configuration.plain_daphne else BrokerServer)(
                application, listening, configuration, loop
            )
        except ConfigurationError as error:
            raise CommandError(str(error)) from None
        server.serve(start=life.start, drain=life.drain)
