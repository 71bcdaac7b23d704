"""Facts per minute, hour and day, dead letter clusters and findings about health.

Each column carries its meaning into the database (`db_comment`), where the console and analysts read it. Names and
types agree with `pipeline/schemas.py`; a test compares the two. All times are UTC, all durations seconds.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Grain(models.TextChoices):
    MINUTE = "minute", "per minute"
    HOUR = "hour", "per hour"
    DAY = "day", "per day (UTC)"


def _count(meaning: str) -> models.BigIntegerField:
    return models.BigIntegerField(db_default=0, db_comment=meaning)


def _seconds(meaning: str) -> models.FloatField:
    return models.FloatField(null=True, db_comment=f"{meaning}, in seconds; null if there was none.")


class Fact(models.Model):
    """What all facts share: how long a time, and which."""

    grain = models.CharField(max_length=6, choices=Grain, db_comment="How long the bucket is: minute, hour or day.")
    bucket = models.DateTimeField(db_comment="When the bucket begins (UTC).")

    class Meta:
        abstract = True


class QueueFact(Fact):
    """What happened in one queue in one bucket."""

    queue_id = models.BigIntegerField(db_comment="Number of the queue.")
    queue_name = models.TextField(db_comment="Name of the queue.")
    queue_tags = ArrayField(models.TextField(), db_comment="Tags of the queue, sorted.")
    posted = _count("Messages posted in the bucket whose life has ended since; those that still wait are not in it.")
    finished = _count("Messages that a client finished in the bucket.")
    popped = _count("Messages handed over by a pop in the bucket.")
    failed = _count("Attempts that failed in the bucket, whether another followed or the message died.")
    retried = _count("Failed attempts after which the message was tried again.")
    dead = _count("Messages that went to the dead letter queue.")
    dropped = _count("Messages removed to make room, by retention or by an operator.")
    dead_by_reason = models.JSONField(db_default={}, db_comment="Dead messages by their reason: {reason: count}.")
    bytes = _count("Bytes of the bodies of all messages whose life ended in the bucket.")
    wait_p50 = _seconds("Median time from post to the last assignment, of messages that ended in the bucket")
    wait_p90 = _seconds("90th percentile of the same waiting time")
    wait_p95 = _seconds("95th percentile of the same waiting time")
    wait_p99 = _seconds("99th percentile of the same waiting time")
    wait_max = _seconds("Longest such waiting time")
    work_p50 = _seconds("Median time from assignment to finish, of messages finished in the bucket")
    work_p90 = _seconds("90th percentile of the same working time")
    work_p95 = _seconds("95th percentile of the same working time")
    work_p99 = _seconds("99th percentile of the same working time")
    work_max = _seconds("Longest such working time")
    oldest_age = _seconds("Greatest age, from post to end, of a message whose life ended in the bucket")

    class Meta:
        db_table = "willow_queue_facts"
        db_table_comment = "What happened in each queue, per minute, hour and day; written by the data pipeline."
        constraints = [
            models.UniqueConstraint(fields=["grain", "queue_id", "bucket"], name="queue_fact_once"),
            models.CheckConstraint(condition=Q(grain__in=Grain.values), name="queue_fact_grain_known"),
        ]
        indexes = [models.Index(fields=["grain", "bucket"], name="queue_fact_by_time")]


class WorkFact(Fact):
    """What clients and nodes have in common."""

    finished = _count("Messages finished in the bucket.")
    failed = _count("Attempts that failed in the bucket.")
    work_p50 = _seconds("Median time from assignment to finish")
    work_p90 = _seconds("90th percentile of the same working time")
    work_p95 = _seconds("95th percentile of the same working time")
    work_p99 = _seconds("99th percentile of the same working time")
    work_max = _seconds("Longest such working time")

    class Meta:
        abstract = True


class ClientFact(WorkFact):
    client = models.TextField(db_comment="Name of the client; clients without a name are one, under an empty name.")

    class Meta:
        db_table = "willow_client_facts"
        db_table_comment = "What each client did, per minute, hour and day; written by the data pipeline."
        constraints = [
            models.UniqueConstraint(fields=["grain", "client", "bucket"], name="client_fact_once"),
            models.CheckConstraint(condition=Q(grain__in=Grain.values), name="client_fact_grain_known"),
        ]
        indexes = [models.Index(fields=["grain", "bucket"], name="client_fact_by_time")]


class NodeFact(WorkFact):
    node = models.TextField(db_comment="Name of the node that wrote the rows; `reaper` is the reaper.")

    class Meta:
        db_table = "willow_node_facts"
        db_table_comment = "What ended through each node, per minute, hour and day; written by the data pipeline."
        constraints = [
            models.UniqueConstraint(fields=["grain", "node", "bucket"], name="node_fact_once"),
            models.CheckConstraint(condition=Q(grain__in=Grain.values), name="node_fact_grain_known"),
        ]
        indexes = [models.Index(fields=["grain", "bucket"], name="node_fact_by_time")]


class ServiceFact(Fact):
    service = models.TextField(db_comment="Name of the service.")
    requests = _count("Requests whose life ended in the bucket.")
    answered = _count("Requests that a worker answered.")
    failed = _count("Requests that ended without an answer.")
    latency_p50 = _seconds("Median time from request to answer")
    latency_p90 = _seconds("90th percentile of the same latency")
    latency_p95 = _seconds("95th percentile of the same latency")
    latency_p99 = _seconds("99th percentile of the same latency")
    latency_max = _seconds("Longest such latency")

    class Meta:
        db_table = "willow_service_facts"
        db_table_comment = "Requests and their latencies per service; written by the data pipeline."
        constraints = [
            models.UniqueConstraint(fields=["grain", "service", "bucket"], name="service_fact_once"),
            models.CheckConstraint(condition=Q(grain__in=Grain.values), name="service_fact_grain_known"),
        ]
        indexes = [models.Index(fields=["grain", "bucket"], name="service_fact_by_time")]


class DeadLetterCluster(models.Model):
    """Dead messages of one day and queue whose errors are alike. `willow_dead_letter_clusters_v1` adds the days up."""

    day = models.DateField(db_comment="Day (UTC) on which the messages died.")
    queue_id = models.BigIntegerField(db_comment="Number of the queue in which they died.")
    queue_name = models.TextField(db_comment="Name of that queue.")
    queue_tags = ArrayField(models.TextField(), db_comment="Tags of that queue, sorted.")
    reason = models.TextField(db_comment="Why they died: failed, timeout, disconnected, expired.")
    signature = models.TextField(db_comment="What their error texts have in common; empty if there was no text.")
    count = _count("How many messages died so.")
    first_seen = models.DateTimeField(db_comment="When the first of them died.")
    last_seen = models.DateTimeField(db_comment="When the last of them died.")
    example = models.TextField(null=True, db_comment="The error text of one of them, as its client sent it.")

    class Meta:
        db_table = "willow_dead_letter_clusters"
        db_table_comment = "Dead messages by what their errors have in common, per day; written by the data pipeline."
        constraints = [
            models.UniqueConstraint(fields=["day", "queue_id", "reason", "signature"], name="dead_letter_cluster_once"),
        ]
        indexes = [models.Index(fields=["queue_id", "last_seen"], name="dead_letter_cluster_of_queue")]


class Severity(models.TextChoices):
    NOTE = "note", "somebody should know"
    WARNING = "warning", "somebody should look soon"
    CRITICAL = "critical", "somebody should act now"


class HealthFinding(models.Model):
    """What the last run of the pipeline found odd. Each run replaces all of them."""

    kind = models.TextField(db_comment="What sort of finding: rate, latency, slow_consumer, unconsumed and the like.")
    queue_id = models.BigIntegerField(null=True, db_comment="Number of the queue that it is about, if any.")
    queue_name = models.TextField(null=True, db_comment="Name of that queue.")
    queue_tags = ArrayField(models.TextField(), null=True, db_comment="Tags of that queue, sorted.")
    client = models.TextField(null=True, db_comment="Name of the client that it is about, if any.")
    severity = models.CharField(max_length=8, choices=Severity, db_comment="note, warning or critical.")
    sentence = models.TextField(db_comment="The finding, as a sentence for a person.")
    value = models.FloatField(null=True, db_comment="What was measured.")
    usual = models.FloatField(null=True, db_comment="What was usual before: the median of its history.")
    score = models.FloatField(null=True, db_comment="How unusual: robust z-score, 0 is usual.")
    at = models.DateTimeField(db_comment="The bucket in which it was seen.")

    class Meta:
        db_table = "willow_health_findings"
        db_table_comment = "What the last run of the data pipeline found odd."
        constraints = [
            models.CheckConstraint(condition=Q(severity__in=Severity.values), name="health_finding_severity_known"),
        ]


class PipelineRun(models.Model):
    """One run of the pipeline, and how it ended."""

    class State(models.TextChoices):
        RUNNING = "running", "running, or killed without a word"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    command = models.TextField(db_comment="run, follow, backfill or erase.")
    state = models.CharField(max_length=7, choices=State, db_comment="running, done or failed.")
    tx_from = models.BigIntegerField(null=True, db_comment="First transaction that the run read.")
    tx_to = models.BigIntegerField(null=True, db_comment="Transaction before which the run stopped reading.")
    rows = _count("Journal rows that the run archived.")
    bytes = _count("Bytes of the files that the run archived them in.")
    facts = _count("Fact rows that the run computed.")
    days = ArrayField(models.DateField(), db_default=[], db_comment="Days whose facts the run computed again.")
    steps = models.JSONField(db_default={}, db_comment="Seconds that each step of the run took.")
    started_at = models.DateTimeField(db_default=Now(), db_comment="When it began.")
    ended_at = models.DateTimeField(null=True, db_comment="When it ended.")
    error = models.TextField(db_default="", db_comment="What went wrong, if something did.")

    class Meta:
        db_table = "willow_pipeline_runs"
        db_table_comment = "Runs of the data pipeline."
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["running", "done", "failed"]), name="pipeline_run_state_known"
            ),
        ]
