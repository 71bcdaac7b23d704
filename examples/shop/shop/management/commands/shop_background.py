"""`manage.py shop_background`: packing, prices, audit and the nightly report."""

import asyncio
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from willow_client import WillowError

from shop.background import run


class Command(BaseCommand):
    help = "Packs orders, answers what things cost, writes the audit and makes the nightly reports."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            asyncio.run(run())
        except WillowError as error:
            raise CommandError(str(error)) from None
