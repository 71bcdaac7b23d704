"""What takes a while and may fail: the website does not wait for it."""

from django.core.mail import send_mail
from django.utils import timezone
from willow_django.tasks import task

from shop.models import Order


@task(queue_name="emails", retries=5, retry_delay=10)
def send_receipt(order_id: int) -> str:
    order = Order.objects.get(pk=order_id)
    send_mail(
        f"Your order {order.pk}",
        f"Thank you for ordering: {order.product}, for {order.price}.",
        "shop@example.org",
        [order.email],
    )
    order.receipt_sent_at = timezone.now()
    order.save(update_fields=["receipt_sent_at"])
    return order.email
