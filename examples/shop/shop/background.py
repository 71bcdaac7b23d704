"""What the shop does beside its website: packs orders, answers what things cost, writes the audit, makes reports.

Each part could run as a program of its own, on any machine. One process is enough for an example.
"""

import asyncio

from django.db.models import Count, Sum
from django.utils import timezone
from willow_client import Client, Message, serve
from willow_client.signals import until_stopped
from willow_django.conf import willow_settings
from willow_django.connections import new_client

from shop.models import AuditEvent, Order, Report
from shop.names import AUDIT, NIGHTLY, ORDERS, PRICES
from shop.pricing import answer

READER = "shop-audit"  # the name under which the broker keeps how far it has read


async def run() -> None:
    """Until SIGTERM or SIGINT."""
    async with (
        new_client() as client,
        serve(willow_settings().url, PRICES, answer, slots=8),
        client.worker(ORDERS, pack),
        client.worker(NIGHTLY, report),
        new_client() as reader,
    ):
        reading = asyncio.create_task(write_audit(reader))
        try:
            await until_stopped(reading)
        finally:
            reading.cancel()


async def pack(message: Message) -> None:
    """May run twice for an order, if this process dies at the wrong moment: the second time changes nothing."""
    orders = Order.objects.filter(pk=message.json()["order"], packed_at=None)
    await orders.aupdate(packed_at=timezone.now())


async def report(message: Message) -> None:
    """The schedule says in a header for when it is; a report that is there already is not made again."""
    due = message.headers.get("willow-due", timezone.now().isoformat())
    figures = await Order.objects.aaggregate(orders=Count("id"), turnover=Sum("price"))
    await Report.objects.aget_or_create(
        due=due, defaults={"orders": figures["orders"], "turnover": figures["turnover"] or 0}
    )


async def write_audit(reader: Client) -> None:
    """Goes on where it stopped last time: the broker keeps the position under the name."""
    await reader.register(READER, persistent=True)
    async for message in reader.subscribe(AUDIT, start="oldest"):
        await AuditEvent.objects.aget_or_create(index=message.index, defaults={"sentence": message.json()["sentence"]})
        await message.finish()
