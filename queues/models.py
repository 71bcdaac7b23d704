"""Queues and the tags that tell queues of one name apart."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Kind(models.TextChoices):
    WORK = "work", "work: each message goes to one client at a time and ends when it is finished"
    STREAM = "stream", "stream: each subscribed client gets every message, at its own position"


class Overflow(models.TextChoices):
    REJECT = "reject", "reject new messages"
    DROP_OLDEST = "drop_oldest", "drop the oldest unclaimed message"


class Tag(models.Model):
    """The catalogue of tags in use, for the console. `Queue.tags` is what decides."""

    name = models.TextField(unique=True)
    description = models.TextField(blank=True, db_default="")
    first_used_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.name


class Queue(models.Model):
    """One queue: a name plus a set of tags. Its number is what the protocol calls the shard."""

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=200)
    tags = ArrayField(models.TextField(), default=list, help_text="Sorted, each tag once.")
    kind = models.CharField(max_length=10, choices=Kind, db_default=Kind.WORK)

    retry_limit = models.IntegerField(
        null=True,
        blank=True,
        help_text="Failures after which a message goes to the dead letter queue; empty: never.",
    )
    heartbeat_timeout = models.FloatField(help_text="Seconds that a claim lasts without a keepalive.")
    retry_delay = models.FloatField(help_text="Seconds before the second attempt.")
    retry_backoff = models.FloatField(help_text="Factor by which the delay grows with each further attempt.")
    retry_delay_max = models.FloatField(help_text="Seconds that the delay never exceeds.")
    max_length = models.BigIntegerField(null=True, blank=True, help_text="Most live messages; empty: no bound.")
    overflow = models.CharField(max_length=20, choices=Overflow, db_default=Overflow.REJECT)
    updatable = models.BooleanField(
        db_default=False, help_text="A post with the key of a waiting message replaces that message."
    )
    paused = models.BooleanField(db_default=False, help_text="Hands out nothing, still accepts posts.")
    keep_bodies = models.BooleanField(db_default=False, help_text="The journal keeps the bodies too.")
    retention_seconds = models.FloatField(null=True, blank=True, help_text="Streams: age at which messages go.")
    retention_count = models.BigIntegerField(null=True, blank=True, help_text="Streams: most messages kept.")
    retention_acked = models.BooleanField(
        db_default=False,
        help_text="Streams: messages go once every persistent subscriber has acknowledged them.",
    )
    group_in_flight = models.IntegerField(
        null=True, blank=True, help_text="Most messages of one group that are claimed at a time; empty: no bound."
    )
    max_in_flight = models.IntegerField(
        null=True, blank=True, help_text="Most messages that are claimed at a time; empty: no bound."
    )
    rate = models.FloatField(
        null=True, blank=True, help_text="Most messages a second that are handed out; empty: no bound."
    )
    burst = models.FloatField(
        null=True,
        blank=True,
        help_text="With a rate: most messages at once after a pause; empty: 1, or the rate if that is more.",
    )
    keep_replies = models.FloatField(
        null=True, blank=True, help_text="Seconds for which the reply of a finish can be asked for; empty: not at all."
    )

    defined_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(
        db_default=Now(), editable=False, help_text="When its settings last changed; nodes watch this."
    )

    definer = models.BigIntegerField(
        null=True, editable=False, help_text="The client whose key defined it; empty: somebody else."
    )

    class Meta:
        constraints = [
            # By their digest: all the tags that a queue may have are larger than what an index holds.
            models.UniqueConstraint(
                "name",
                models.Func("tags", function="willow_tags_digest"),
                name="queue_name_and_tags_digest",
                violation_error_message="A queue with this name and these tags already exists.",
            ),
            models.CheckConstraint(condition=Q(name__regex=r"^[\x20-\x7e]{1,200}$"), name="queue_name_is_ascii"),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="queue_kind_known"),
            models.CheckConstraint(condition=Q(overflow__in=Overflow.values), name="queue_overflow_known"),
            models.CheckConstraint(
                condition=Q(retry_limit__isnull=True) | Q(retry_limit__gte=0), name="queue_retry_limit"
            ),
            models.CheckConstraint(condition=Q(heartbeat_timeout__gt=0), name="queue_heartbeat_timeout"),
            models.CheckConstraint(
                condition=Q(retry_delay__gte=0) & Q(retry_backoff__gte=1) & Q(retry_delay_max__gte=0),
                name="queue_retry_delays",
            ),
            models.CheckConstraint(
                condition=Q(max_length__isnull=True) | Q(max_length__gte=1), name="queue_max_length"
            ),
            models.CheckConstraint(
                condition=~Q(kind=Kind.STREAM)
                | Q(group_in_flight__isnull=True, max_in_flight__isnull=True, rate__isnull=True, burst__isnull=True),
                name="queue_streams_have_no_limits",
            ),
            models.CheckConstraint(
                condition=(Q(group_in_flight__isnull=True) | Q(group_in_flight__gte=1))
                & (Q(max_in_flight__isnull=True) | Q(max_in_flight__gte=1))
                & (Q(rate__isnull=True) | Q(rate__gt=0))
                & (Q(burst__isnull=True) | Q(burst__gte=1))
                & (Q(keep_replies__isnull=True) | Q(keep_replies__gte=0)),
                name="queue_limits",
            ),
        ]
        indexes = [
            GinIndex(fields=["tags"], name="queue_tags"),
            models.Index(fields=["changed_at"], name="queue_changed"),
            models.Index(fields=["definer"], name="queue_of_definer", condition=Q(definer__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.name} [{', '.join(self.tags)}]" if self.tags else self.name

    @property
    def newest_index(self) -> int:
        return self.counter.newest_index


class QueueCounter(models.Model):
    """The numbers that a queue gives to its messages. The database makes this row with the queue's own (a trigger).

    It changes with every batch of posts. The queue's row would cost more: each of its constraints is checked again at
    every update. Nothing but the key may be indexed, so that PostgreSQL rewrites the row in place on its page (a HOT
    update, see the fillfactor in the migration). Posts hold it locked until they are committed, so indexes become
    visible in order.
    """

    queue = models.OneToOneField(
        Queue,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="counter",
        db_constraint=False,  # the migration makes one with which the counter goes when its queue goes
    )
    newest_index = models.BigIntegerField(db_default=0, help_text="Index of the newest message.")
    next_sequence = models.BigIntegerField(db_default=1, help_text="An ID above those of all messages that live.")
    flushed_index = models.BigIntegerField(
        db_default=0, help_text="No index above this one was given out that a crash of the storage could take back."
    )
    restarted_index = models.BigIntegerField(
        db_default=0, help_text="Newest index when the queue was last empty and its IDs began at 1 again."
    )

    class Meta:
        db_table = "queues_counter"

    def __str__(self) -> str:
        return f"{self.queue}: {self.newest_index}"
