"""Messages while they live, and the journal of what became of them.

Messages change only through `delivery/moves/`, which the engine, the reaper and operators call; the statements are in
`delivery/sql/moves/`. No foreign key ties a message to its queue: checking one on every insert costs more than the
insert's own index entry, and the post statement already holds the queue's row locked
(docs/decisions/no-foreign-key-from-message-to-queue.md).
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.db.models.lookups import Exact

from delivery.moves.states import State


class Message(models.Model):
    """A live message. Finished, popped and buried messages are deleted, so the table stays small.

    It has no CHECK constraints: PostgreSQL would read their texts again for every statement, which costs a single post
    more than storing it. The table of moves and its tests hold the statements to what they would check. No index
    is on the ID either: docs/decisions/no-index-on-ids.md says why, and what keeps it unique.
    """

    pk = models.CompositePrimaryKey("queue_id", "index")
    queue_id = models.BigIntegerField()
    sequence = models.BigIntegerField(help_text="The message's ID, used again once the message has ended.")
    index = models.BigIntegerField(help_text="The message's place in its queue, never used again.")
    priority = models.BigIntegerField()
    state = models.SmallIntegerField(choices=State.choices)
    attempts = models.IntegerField(db_default=0)
    posted_at = models.DateTimeField(db_default=Now())
    available_at = models.DateTimeField(null=True, help_text="Delayed: when it may be handed out.")
    expires_at = models.DateTimeField(null=True, help_text="When its time to live ends.")
    key = models.TextField(null=True)
    body = models.BinaryField()
    headers = models.JSONField(null=True)
    group_key = models.TextField(null=True, help_text="`group` of its post.")
    unique_key = models.TextField(null=True, help_text="`unique` of its post.")

    poster = models.BigIntegerField(null=True, help_text="Session that posted it.")
    poster_key = models.BigIntegerField(
        null=True,
        help_text="Key that posted it, of dead letters, posts over HTTP and queues that keep replies; 0: none.",
    )
    poster_node = models.IntegerField(null=True, help_text="Node of that session when it posted.")
    label = models.BigIntegerField(null=True, help_text="The poster's label; 64 bits, read as unsigned.")
    notify = models.SmallIntegerField(db_default=0, help_text="Bit mask of the stages the poster asked for.")

    holder = models.BigIntegerField(null=True, help_text="Session that holds the claim.")
    assigned_at = models.DateTimeField(null=True)
    work_timeout = models.FloatField(null=True, help_text="Seconds that the claim lasts without a keepalive.")
    lease_until = models.DateTimeField(null=True)
    last_error = models.TextField(null=True)
    last_client = models.TextField(null=True)

    origin_queue_id = models.BigIntegerField(null=True, help_text="Dead letters: the queue it came from.")
    origin_index = models.BigIntegerField(null=True)
    origin_attempts = models.IntegerField(null=True)
    dead_reason = models.TextField(null=True)
    died_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # Each index has a condition that only the statements meant for it imply. The planner's statistics of this
            # table are always wrong: taking it for empty, it finds all indexes equally good and would as soon walk
            # over a whole queue as look up one message. So it is left no choice.
            #
            # What a claim walks along: highest priority first, then oldest.
            models.Index(
                F("queue_id"),
                -F("priority"),
                F("index"),
                name="message_ready",
                condition=Q(state=State.READY),
            ),
            # Claims, by queue and by who holds them; what a session holds is found queue by queue.
            models.Index(
                fields=["queue_id", "holder", "lease_until"],
                name="message_claimed",
                condition=Q(lease_until__isnull=False),
            ),
            models.Index(fields=["queue_id", "available_at"], name="message_delayed", condition=Q(state=State.DELAYED)),
            models.Index(
                fields=["queue_id", "expires_at"],
                name="message_expiry",
                condition=Q(expires_at__isnull=False),
            ),
            models.Index(fields=["queue_id", "key"], name="message_key", condition=Q(key__isnull=False)),
            # Not unique in the database: dead letters keep the text of what they were, and there may be several.
            # Of each group those that have a place: held, tried before, or ready. The conditions are written as the
            # statements write them.
            models.Index(
                fields=["queue_id", "group_key"],
                name="message_of_group",
                condition=Q(group_key__isnull=False)
                & ~Q(state=State.BEHIND)
                & (~Q(state=State.DELAYED) | Q(attempts__gt=0)),
            ),
            # Of each group those that wait for a place, the next one first; and of each queue, for pops.
            models.Index(
                F("queue_id"),
                F("group_key"),
                -F("priority"),
                F("index"),
                name="message_behind",
                condition=Q(state=State.BEHIND),
            ),
            models.Index(
                F("queue_id"),
                -F("priority"),
                F("index"),
                name="message_behind_in_order",
                condition=Q(Exact(F("state") + 0, State.BEHIND)),  # not `state = 4`, which would fit both
            ),
            models.Index(
                fields=["queue_id", "unique_key"], name="message_unique", condition=Q(unique_key__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.queue_id}/{self.sequence} (index {self.index})"


class EndedCount(models.Model):
    """How many messages of a queue have ended, as each node counts them: `newest_index` less these live.

    A row for each node, so that nodes which end messages of one queue do not wait for each other.
    """

    pk = models.CompositePrimaryKey("queue_id", "node_id")
    queue_id = models.BigIntegerField()
    node_id = models.BigIntegerField(help_text="The node that ended them; 0: reaper, operators, former nodes.")
    messages = models.BigIntegerField()


class TouchedGroup(models.Model):
    """A group of which messages have gone, come or changed, until it is decided which of them may go now."""

    id = models.BigAutoField(primary_key=True)
    queue_id = models.BigIntegerField()
    group_key = models.TextField()


class Regrouping(models.Model):
    """A queue whose bound on groups was changed, until all its groups have been gone through."""

    queue_id = models.BigIntegerField(primary_key=True)
    after_group = models.TextField(db_default="", help_text="Those up to this one have been gone through.")
    until = models.DateTimeField(help_text="When all nodes know of the change.")


class RateBucket(models.Model):
    """What the rate of a queue has saved up: so many messages may go at once."""

    queue_id = models.BigIntegerField(primary_key=True)
    tokens = models.FloatField(help_text="Messages, as of filled_at.")
    filled_at = models.DateTimeField()
    wanted = models.BooleanField(help_text="Somebody waited for the next one.")


class TransactionalPost(models.Model):
    """A post that an application wrote in its own transaction by `willow_post`, until a node has moved it."""

    id = models.BigIntegerField(primary_key=True)
    queue = models.TextField()
    posted_at = models.DateTimeField()
    refused = models.TextField(null=True, help_text="Why no queue can ever take it.")

    class Meta:
        managed = False  # made by a migration, like the journal
        db_table = "delivery_transactionalpost"


class RoleGrant(models.Model):
    """A role of PostgreSQL may post to some queues by `willow_post`."""

    pk = models.CompositePrimaryKey("role", "pattern")
    role = models.CharField(max_length=63, help_text="A role of PostgreSQL that may post by willow_post.")
    pattern = models.CharField(max_length=200, help_text="To queues of these names; `*` stands for any characters.")
    like_pattern = models.TextField(help_text="The same for LIKE.")


class DedupeValue(models.Model):
    """A poster's `dedupe` text that was seen lately, and the message that came of it first."""

    pk = models.CompositePrimaryKey("queue_id", "value")
    queue_id = models.BigIntegerField()
    value = models.TextField()
    sequence = models.BigIntegerField()
    index = models.BigIntegerField()
    until = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["until"], name="dedupe_until")]


class PendingNotice(models.Model):
    """A notice for a poster that is connected to another node, or to none just now. Its node takes it from here."""

    id = models.BigAutoField(primary_key=True)
    session_id = models.BigIntegerField()
    stage = models.SmallIntegerField()
    label = models.BigIntegerField(null=True)
    queue_id = models.BigIntegerField()
    queue_name = models.TextField(null=True, help_text="Set when the post named several queues, and for requests.")
    sequence = models.BigIntegerField()
    index = models.BigIntegerField()
    reply = models.BinaryField(null=True)  # of a request that has none: why
    notify = models.SmallIntegerField(db_default=0, help_text="As of the message: tells requests from posts.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index(fields=["session_id", "id"], name="pending_notice_of_session"),
            models.Index(fields=["created_at"], name="pending_notice_age"),
        ]


class KeptReply(models.Model):
    """How a message ended whose queue keeps replies, until nobody may ask for it any more."""

    pk = models.CompositePrimaryKey("queue_id", "index")
    queue_id = models.BigIntegerField()
    index = models.BigIntegerField()
    outcome = models.TextField()
    reason = models.TextField(null=True)
    error = models.TextField(null=True)
    attempts = models.IntegerField()
    reply = models.BinaryField(null=True)
    poster_key = models.BigIntegerField(null=True, help_text="Key that posted the message; empty: none did.")
    ended_at = models.DateTimeField(db_default=Now())
    until = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["until"], name="kept_reply_until")]


class Journal(models.Model):
    """Append-only: one row at the end of each message's life, and one for each failed attempt."""

    id = models.BigAutoField(primary_key=True)
    queue_id = models.BigIntegerField()
    queue_name = models.TextField()
    queue_tags = ArrayField(models.TextField())
    index = models.BigIntegerField()
    outcome = models.TextField()
    reason = models.TextField(null=True)
    attempt = models.IntegerField()
    poster = models.BigIntegerField(null=True, help_text="Session that posted the message.")
    holder = models.BigIntegerField(null=True, help_text="Session that had the message.")
    client = models.TextField(null=True, help_text="Name of the client that had the message, if it has one.")
    node = models.TextField(null=True, help_text="Node, or reaper, that wrote this row.")
    priority = models.BigIntegerField()
    posted_at = models.DateTimeField()
    assigned_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField()
    size = models.IntegerField()
    error = models.TextField(null=True)
    body = models.BinaryField(null=True)
    extras = models.JSONField(
        null=True, help_text="Headers, group, key and unique text of its post, where bodies are kept."
    )

    class Meta:
        managed = False
        db_table = "delivery_journal"
