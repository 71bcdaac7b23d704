"""Who is connected, where, with which rights, and what each client reads."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Now

PREFIX_LENGTH = 12  # characters of a key that are kept in clear


class Client(models.Model):
    """A program that registered under a name, or that owns keys."""

    name = models.CharField(max_length=200, unique=True)
    persistent = models.BooleanField(
        help_text="Kept for ever; a transient client is removed after the retention period."
    )
    defined_at = models.DateTimeField(db_default=Now(), editable=False)
    last_seen_at = models.DateTimeField(db_default=Now(), editable=False)
    owner = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.CASCADE,
        related_name="registered",
        editable=False,
        help_text="The client whose key registered this name first; empty: a connection without a key.",
    )
    bound = models.BooleanField(
        db_default=False, editable=False, help_text="Whether anybody has registered it, so that `owner` holds."
    )

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(name__regex=r"^[\x20-\x7e]{1,200}$"), name="client_name_is_ascii"),
        ]

    def __str__(self) -> str:
        return self.name


class Key(models.Model):
    """A secret that says who is connecting. Only its hash is kept; `prefix` lets a person tell keys apart."""

    client = models.ForeignKey(Client, on_delete=models.CASCADE, related_name="keys")
    prefix = models.CharField(max_length=PREFIX_LENGTH)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the key, in hex.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    quotas = models.JSONField(
        db_default=Value({}, models.JSONField()), help_text="By name: where the key differs from the defaults."
    )
    addresses = ArrayField(
        models.TextField(),
        db_default=Value([], ArrayField(models.TextField())),
        help_text="Networks from which the key is good; none: everywhere.",
    )

    def __str__(self) -> str:
        return f"{self.client}: {self.prefix}…"


class Permission(models.TextChoices):
    POST = "post", "post messages"
    FETCH = "fetch", "fetch, pop, subscribe, finish"
    CREATE = "create", "create queues"
    SERVE = "serve", "be a worker of services"
    REQUEST = "request", "send requests to services"
    ADMIN = "admin", "what operators do"


class Grant(models.Model):
    """What a key may do with the queues whose names match a pattern (`*` stands for any characters)."""

    key = models.ForeignKey(Key, on_delete=models.CASCADE, related_name="grants")
    pattern = models.CharField(max_length=200)
    permissions = ArrayField(models.CharField(max_length=10, choices=Permission))

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["key", "pattern"], name="grant_pattern_once_per_key"),
            models.CheckConstraint(
                condition=Q(permissions__contained_by=Permission.values) & Q(permissions__len__gt=0),
                name="grant_permissions_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pattern}: {', '.join(self.permissions)}"


class Node(models.Model):
    """One broker process. Dead once its heartbeat is older than WILLOW_NODE_LAPSE."""

    id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=200, unique=True)
    url = models.TextField(help_text="Where clients reach this node.")
    started_at = models.DateTimeField(db_default=Now())
    heartbeat_at = models.DateTimeField(db_default=Now())
    draining = models.BooleanField(db_default=False)
    sockets = models.IntegerField(db_default=0)
    readers = models.JSONField(
        db_default=Value({}, models.JSONField()),
        help_text="By queue number: sessions that wait for or hold its messages.",
    )
    free_places = models.JSONField(
        db_default=Value({}, models.JSONField()),
        help_text="By queue number: messages that those sessions could still be given.",
    )
    rates_wanted = models.JSONField(
        db_default=Value({}, models.JSONField()),
        help_text="By key: messages and bytes a second that its callers would post here.",
    )
    reading = models.JSONField(
        db_default=Value({}, models.JSONField()),
        help_text="By session number: numbers of the queues it reads, or looked into last. Not all, if they are many.",
    )
    alarms = ArrayField(
        models.TextField(),
        db_default=Value([], ArrayField(models.TextField())),
        help_text="What it is short of, so that it refuses posts: memory, disk.",
    )

    def __str__(self) -> str:
        return self.name


class Session(models.Model):
    """One identity handed out by `hello`: live on a node, held for its client's return, or ended.

    live: `node` is set; held: no node, `held_until` in the future; orphaned by its node's death: no node,
    `ended_at` empty; ended: `ended_at` set (the row stays a while so that `?id=` can take the identity up again).
    """

    id = models.BigAutoField(primary_key=True)
    token = models.CharField(
        max_length=64, unique=True, help_text="The id in `hello`: unguessable, never shown elsewhere."
    )
    node = models.ForeignKey(Node, null=True, on_delete=models.SET_NULL, related_name="sessions")
    client = models.ForeignKey(Client, null=True, on_delete=models.SET_NULL, related_name="sessions")
    key = models.ForeignKey(Key, null=True, on_delete=models.SET_NULL, related_name="sessions")
    address = models.TextField(db_default="")
    hold_seconds = models.FloatField(db_default=0)
    connected_at = models.DateTimeField(db_default=Now())
    held_until = models.DateTimeField(null=True)
    orphaned_at = models.DateTimeField(null=True, help_text="When its node went away without it.")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["client"], condition=Q(ended_at__isnull=True), name="one_live_session_per_client"
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(node__isnull=True),
                name="an_ended_session_is_on_no_node",
            ),
        ]
        indexes = [
            models.Index(fields=["held_until"], name="session_held", condition=Q(held_until__isnull=False)),
            models.Index(fields=["ended_at"], name="session_ended", condition=Q(ended_at__isnull=False)),
            models.Index(fields=["key"], name="live_session_of_key", condition=Q(node__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.client or 'anonymous'} on {self.node or 'no node'}"


class Subscription(models.Model):
    """A registered client's wish to read, kept so that it can be restored when the client comes back."""

    client = models.ForeignKey(Client, on_delete=models.CASCADE, related_name="subscriptions")
    label = models.DecimalField(
        max_digits=20, decimal_places=0, null=True, help_text="The label that its messages carry."
    )
    name = models.CharField(max_length=200)
    tags = ArrayField(models.TextField(), default=list)
    match = models.CharField(max_length=10)
    in_flight = models.IntegerField()
    work_timeout = models.FloatField(null=True)
    sync = models.CharField(max_length=10)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(in_flight__gte=1), name="subscription_in_flight_positive"),
            models.CheckConstraint(
                condition=Q(match__in=["all", "exact", "strict", "combined", "any"]),
                name="subscription_match_known",
            ),
            models.CheckConstraint(condition=Q(sync__in=["ready", "write", "sync"]), name="subscription_sync_known"),
        ]

    def __str__(self) -> str:
        return f"{self.client} reads {self.name} ({self.match} {self.tags})"


class Position(models.Model):
    """How far a registered client has come with one queue.

    Of a stream, everything up to `floor_index` is acknowledged, and of what follows the indexes in `acked_above`.
    Delivered and not acknowledged is what is still outstanding. Of a work queue only `acked_index` has a meaning:
    what is outstanding there is what the client's session holds.
    """

    pk = models.CompositePrimaryKey("client_id", "queue_id")
    client = models.ForeignKey(Client, on_delete=models.CASCADE, related_name="positions")
    queue_id = models.BigIntegerField()
    acked_index = models.BigIntegerField(db_default=0, help_text="Highest index that the client acknowledged.")
    floor_index = models.BigIntegerField(db_default=0)
    acked_above = ArrayField(models.BigIntegerField(), db_default=Value([], ArrayField(models.BigIntegerField())))
    delivered_index = models.BigIntegerField(db_default=0, help_text="Highest index that was sent to the client.")
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(delivered_index__gte=F("floor_index")), name="position_delivered_above_floor"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.client} in queue {self.queue_id}: acknowledged up to {self.acked_index}"
