"""Workers in their line, and the configuration of services with its history."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from clients.models import Session
from delivery.moves.service_names import LONGEST_NAME
from queues.definitions import DEAD_SUFFIX, SERVICE_PREFIX
from queues.models import Queue

DEFAULT_HEARTBEAT_INTERVAL = 5.0  # seconds


class Worker(models.Model):
    """A session that said `ready`. With a free slot it stands in the line of each of its services.

    Rows change with every request, through the statements of `delivery/sql/`. The place in the line is a number of
    the sequence `delivery_worker_turn`, not a time: two workers never have the same one.
    """

    session = models.OneToOneField(Session, primary_key=True, on_delete=models.DO_NOTHING, db_constraint=False)
    node_id = models.IntegerField(help_text="Node on which it said `ready`.")
    identity = models.TextField(help_text="The worker's name for itself.")
    services = ArrayField(models.TextField())
    queue_ids = ArrayField(models.BigIntegerField(), help_text="The queues of its services.")
    slots = models.IntegerField(help_text="Requests that it takes at once.")
    free = models.IntegerField(help_text="Requests that it can still be given before it says `ready` again.")
    waited_since = models.BigIntegerField(help_text="Its place in the line: the lowest number is next.")
    heartbeat_interval = models.FloatField(help_text="Seconds between two of its heartbeats.")
    seen_at = models.DateTimeField(db_default=Now(), help_text="When it was last heard of.")
    config_type = models.TextField()
    config_version = models.TextField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(free__gte=0) & Q(slots__gte=1), name="worker_slots"),
            models.CheckConstraint(condition=Q(heartbeat_interval__gt=0), name="worker_heartbeat_interval"),
        ]
        indexes = [
            # The line itself. One for all services: workers are few, and one that serves several stands once.
            models.Index(fields=["waited_since"], name="worker_line", condition=Q(free__gt=0)),
        ]

    def __str__(self) -> str:
        return self.identity


class ServiceQueues(models.Manager["Service"]):
    def get_queryset(self) -> QuerySet["Service"]:
        return super().get_queryset().filter(name__startswith=SERVICE_PREFIX).exclude(name__endswith=DEAD_SUFFIX)


class Service(Queue):
    """The queue of a service, where it is looked at as a service."""

    objects: ClassVar[ServiceQueues] = ServiceQueues()

    class Meta:
        proxy = True


class ServiceConfig(models.Model):
    """What the operator tells the workers of a service. It changes only by `delivery/serving/changes.py`."""

    name = models.CharField(max_length=LONGEST_NAME, unique=True, verbose_name="service")
    heartbeat_interval = models.FloatField(
        default=DEFAULT_HEARTBEAT_INTERVAL,
        help_text="Seconds between two heartbeats that workers are asked to keep.",
    )
    config = models.JSONField(default=dict, help_text="A JSON object. Its workers get it as JSON, XML or ZFL.")
    version = models.IntegerField(default=1, editable=False)

    class Meta:
        verbose_name = "service configuration"
        constraints = [
            models.CheckConstraint(condition=Q(name__regex=r"^[\x20-\x7e]+$"), name="service_name_is_ascii"),
            models.CheckConstraint(condition=Q(heartbeat_interval__gt=0), name="service_heartbeat_interval"),
        ]

    def __str__(self) -> str:
        return self.name


class ServiceConfigVersion(models.Model):
    """One state that a service's configuration was ever in: what, who and when."""

    service = models.ForeignKey(ServiceConfig, on_delete=models.CASCADE, related_name="versions")
    version = models.IntegerField()
    heartbeat_interval = models.FloatField()
    config = models.JSONField()
    restored_from = models.IntegerField(null=True, help_text="The older version that this one repeats.")
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["service", "version"], name="service_version_once")]
        ordering = ["service", "-version"]
        verbose_name = "version of a service configuration"
        verbose_name_plural = "versions of service configurations"

    def __str__(self) -> str:
        return f"{self.service}, version {self.version}"
