"""What operators did, and what of it is still under way."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class AuditEntry(models.Model):
    """One thing that an operator did. Never a body, never a key."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now(), editable=False)
    actor = models.TextField(help_text="The staff member's name, or the client whose key was used.")
    actor_kind = models.CharField(max_length=10, help_text="staff, key or system.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    action = models.TextField(help_text="What was done, such as `drop messages`.")
    target = models.TextField(help_text="On what: a queue, a session, a job.")
    messages = models.BigIntegerField(null=True, help_text="How many messages it was done to.")
    details = models.JSONField(default=dict, help_text="The choice, the counts, the reasons.")

    class Meta:
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["target", "id"], name="audit_of_target")]

    def __str__(self) -> str:
        return f"{self.actor}: {self.action}, {self.target}"


class JobState(models.TextChoices):
    RUNNING = "running", "running"
    DONE = "done", "done"
    CANCELLED = "cancelled", "cancelled before its end"
    UNDOING = "undoing", "being undone"
    UNDONE = "undone", "undone"


class RedriveJob(models.Model):
    """Dead letters on their way back, at a rate. The reaper works it off (delivery/reaper/redrives.py).

    `bounds` holds the dead letter queues and the newest index that each had: what dies later is not of this job.
    `position` is the place in `bounds`, or in `ids` where single messages were chosen.
    """

    id = models.BigAutoField(primary_key=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    created_by = models.TextField(editable=False)
    criteria = models.JSONField(default=dict, help_text="The filter, for people.")
    bounds = models.JSONField(default=list)
    ids = models.JSONField(null=True, help_text="The chosen messages, instead of all of a filter.")
    target_queue_id = models.BigIntegerField(null=True, help_text="Empty: each goes back to where it came from.")
    rate = models.FloatField(null=True, help_text="Messages a second; empty: as fast as it goes.")
    state = models.CharField(max_length=10, choices=JobState, default=JobState.RUNNING)
    total = models.BigIntegerField(
        help_text="Messages that the filter chose at the start, as far as they were counted."
    )
    position = models.IntegerField(default=0)
    after_index = models.BigIntegerField(default=0)
    moved = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0, help_text="Held by a client, or gone.")
    failed = models.BigIntegerField(default=0, help_text="Their queue is gone, or full.")
    returned = models.BigIntegerField(default=0, help_text="Brought back by undoing.")
    problem = models.TextField(null=True, help_text="Why the last one failed.")
    stepped_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True)
    undo_until = models.DateTimeField(help_text="Until then, what nobody has taken yet can be brought back.")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="redrive_state_known"),
            models.CheckConstraint(condition=Q(rate__isnull=True) | Q(rate__gt=0), name="redrive_rate_positive"),
        ]
        indexes = [
            models.Index(fields=["stepped_at"], name="redrive_under_way", condition=Q(state__in=["running", "undoing"]))
        ]

    def __str__(self) -> str:
        return f"redrive {self.pk}"


class RedrivenMessage(models.Model):
    """A message that a redrive moved: where it is now, and what it was as a dead letter."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(RedriveJob, on_delete=models.CASCADE, db_index=False)
    queue_id = models.BigIntegerField()
    sequence = models.BigIntegerField()
    index = models.BigIntegerField()
    dead_queue_id = models.BigIntegerField()
    origin_queue_id = models.BigIntegerField(null=True)
    origin_index = models.BigIntegerField(null=True)
    origin_attempts = models.IntegerField(null=True)
    reason = models.TextField(null=True)
    error = models.TextField(null=True)
    client = models.TextField(null=True)

    class Meta:
        indexes = [models.Index(fields=["job", "id"], name="redriven_of_job")]


class SessionOrder(models.Model):
    """What an operator ordered for a live session. Its node takes it from here, when a hint or its poll says so."""

    id = models.BigAutoField(primary_key=True)
    session_id = models.BigIntegerField()
    node_id = models.IntegerField(help_text="Where the session was live.")
    disconnects = models.BooleanField(help_text="Otherwise: look again which claims the session still has.")
    asked_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["node_id"], name="session_order_of_node")]
