"""What the shop keeps."""

from django.db import models
from django.utils import timezone


class Order(models.Model):
    product = models.CharField(max_length=50)
    email = models.EmailField()
    price = models.DecimalField(max_digits=8, decimal_places=2)
    ordered_at = models.DateTimeField(default=timezone.now)
    receipt_sent_at = models.DateTimeField(null=True)
    packed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"order {self.pk}: {self.product}"


class AuditEvent(models.Model):
    """An event of the stream, as this reader of it wrote it down."""

    index = models.BigIntegerField(unique=True, help_text="In the stream: a message that comes twice is known by it.")
    sentence = models.TextField()
    written_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-index",)

    def __str__(self) -> str:
        return self.sentence


class Report(models.Model):
    """Made every night."""

    due = models.CharField(max_length=40, unique=True)
    orders = models.IntegerField()
    turnover = models.DecimalField(max_digits=10, decimal_places=2)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.orders} orders until {self.due}"
