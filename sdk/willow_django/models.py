"""What the project's own database keeps: posts until they are relayed, and what became of tasks."""

from django.db import models
from django.utils import timezone


class OutboxMessage(models.Model):
    """A post of a transaction, until a relay has brought it to the broker."""

    queue = models.CharField(max_length=200)
    body = models.BinaryField()
    dedupe = models.CharField(max_length=500, help_text="By this the broker knows a post that is repeated.")
    arguments = models.JSONField(default=dict, help_text="Tags, priority and the like.")
    written_at = models.DateTimeField(default=timezone.now)
    refused = models.TextField(blank=True, help_text="Why the broker will never take it.")

    objects: models.Manager["OutboxMessage"] = models.Manager()

    class Meta:
        ordering = ("id",)
        indexes = (models.Index(fields=["id"], condition=models.Q(refused=""), name="willow_outbox_waiting"),)

    def __str__(self) -> str:
        return f"{self.queue}, written {self.written_at:%Y-%m-%d %H:%M:%S}"


class TaskRecord(models.Model):
    """A task that was enqueued, and what became of it."""

    id = models.CharField(primary_key=True, max_length=32)
    path = models.TextField(help_text="Where the task's function is.")
    backend = models.CharField(max_length=100)
    queue_name = models.CharField(max_length=200)
    priority = models.IntegerField()
    run_after = models.DateTimeField(null=True)
    arguments = models.JSONField(help_text="args and kwargs")
    status = models.CharField(max_length=10)
    enqueued_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    last_attempted_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    return_value = models.JSONField(null=True)
    errors = models.JSONField(default=list)
    worker_ids = models.JSONField(default=list)

    objects: models.Manager["TaskRecord"] = models.Manager()

    class Meta:
        indexes = (models.Index(fields=["finished_at"], name="willow_task_finished"),)

    def __str__(self) -> str:
        return f"{self.path} ({self.status.lower()})"
