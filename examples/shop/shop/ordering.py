"""An order, and everything that must happen because of it, in one transaction."""

from decimal import Decimal

from django.db import transaction
from willow_django import post

from shop.models import Order
from shop.names import AUDIT, ORDERS
from shop.tasks import send_receipt


def place_order(product: str, email: str, price: Decimal) -> Order:
    """If anything fails, nobody packs, bills or hears of an order that does not exist."""
    with transaction.atomic():
        order = Order.objects.create(product=product, email=email, price=price)
        post(ORDERS, {"order": order.pk})
        post(AUDIT, {"sentence": f"{email} ordered: {product}, for {price}."})
        send_receipt.enqueue(order.pk)
    return order
