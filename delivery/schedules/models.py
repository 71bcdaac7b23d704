"""Schedules, what came of their due times, and since when somebody has watched the clock."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from delivery.schedules.plan import Plan, plan_of


class Missed(models.TextChoices):
    SKIP = "skip", "skip: what was due while nothing ran is left out"
    ONE = "one", "one: it is made up for once"
    ALL = "all", "all: each one is made up for, 1,000 at most"


class Schedule(models.Model):
    """A message that is posted again and again. `next_due_at` is empty while it is off, and when it is over."""

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=200, unique=True)
    queue = models.CharField(max_length=200)
    tags = ArrayField(models.TextField(), default=list)
    message = models.BinaryField()
    headers = models.JSONField(default=dict)
    priority = models.BigIntegerField(db_default=0)
    ttl = models.FloatField(null=True)
    unique_key = models.TextField(null=True, help_text="`unique` of its posts.")
    cron = models.TextField(null=True)
    time_zone = models.TextField(db_default="UTC")
    every = models.FloatField(null=True, help_text="Seconds.")
    starts_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)
    enabled = models.BooleanField(db_default=True)
    missed = models.CharField(max_length=10, choices=Missed, db_default=Missed.SKIP)
    anchor_at = models.DateTimeField(db_default=Now(), help_text="From where `every` counts, unless it has a start.")
    next_due_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(name__regex=r"^[\x20-\x7e]{1,200}$"), name="schedule_name_is_ascii"),
            models.CheckConstraint(
                condition=Q(cron__isnull=True) ^ Q(every__isnull=True), name="schedule_has_one_plan"
            ),
            models.CheckConstraint(condition=Q(every__isnull=True) | Q(every__gte=1), name="schedule_every_a_second"),
            models.CheckConstraint(condition=Q(missed__in=Missed.values), name="schedule_missed_known"),
        ]
        indexes = [
            models.Index(fields=["next_due_at"], name="schedule_due", condition=Q(next_due_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def plan(self) -> Plan:
        return plan_of(
            cron=self.cron,
            time_zone=self.time_zone,
            every=self.every,
            anchor=self.anchor_at,
            starts_at=self.starts_at,
            ends_at=self.ends_at,
        )


class ScheduleRun(models.Model):
    """What came of a due time, or of an operator's `run`: the message, or why there is none. The last few are kept."""

    id = models.BigAutoField(primary_key=True)
    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="runs")
    due_at = models.DateTimeField()
    ran_at = models.DateTimeField(db_default=Now())
    by_hand = models.BooleanField(db_default=False)
    queue_id = models.BigIntegerField(null=True)
    sequence = models.BigIntegerField(null=True)
    index = models.BigIntegerField(null=True)
    duplicate = models.BooleanField(db_default=False, help_text="Not stored: a message with its `unique` lived.")
    error = models.TextField(null=True, help_text="Not stored, and why.")

    class Meta:
        constraints = [
            # Whatever goes wrong elsewhere: a due time cannot be posted a second time.
            models.UniqueConstraint(
                fields=["schedule", "due_at"], condition=Q(by_hand=False), name="run_once_when_due"
            ),
        ]
        indexes = [models.Index(fields=["schedule", "id"], name="runs_of_schedule")]


class ScheduleWatch(models.Model):
    """One row: until when a reaper was there, and the last time that none was. What was due then was missed."""

    id = models.SmallIntegerField(primary_key=True)
    seen_at = models.DateTimeField()
    away_from = models.DateTimeField(null=True)
    away_until = models.DateTimeField(null=True)
