"""`manage.py shop_queues`: the queues of the shop, with their settings. What exists stays as it is."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from willow_client import WillowError
from willow_django.connections import blocking_client

from shop.names import AUDIT, NIGHTLY, ORDERS

AUDIT_SECONDS = 30 * 86_400.0


class Command(BaseCommand):
    help = "Defines the queues of the shop."

    def handle(self, *args: Any, **options: Any) -> None:
        willow = blocking_client()
        try:
            willow.create(ORDERS, retry_limit=5)
            willow.create(NIGHTLY, retry_limit=5)
            willow.create(AUDIT, kind="stream", retention_seconds=AUDIT_SECONDS)
        except WillowError as error:
            raise CommandError(f"{error} Start Willow first: ./willow up") from None
