"""Views for analysts and for the data pipeline, in versions: what a view shows never changes, new columns get a `_v2`.

None of them touches `delivery_message`. A query that runs for minutes over the busiest table would keep its dead rows
from being vacuumed, and every claim walks over those.
"""

from django.db import migrations

JOURNAL = (
    "willow_journal_v1",
    "What became of each message: one row at the end of its life, and one for each failed attempt.",
    "FROM delivery_journal j",
    (
        ("id", "j.id", "Number of the row. Numbers become visible out of order: do not remember the highest one."),
        ("tx", "j.tx", "Transaction that wrote the row. Rows below pg_snapshot_xmin(pg_current_snapshot()) are settled."),
        ("queue_id", "j.queue_id", "Number of the queue."),
        ("queue_name", "j.queue_name", "Name of the queue."),
        ("queue_tags", "j.queue_tags", "Tags of the queue, sorted."),
        ("index", "j.index", "Index of the message in its queue; never used again."),
        ("outcome", "j.outcome", "finished, popped, retried (the attempt failed, another follows), dead or dropped."),
        ("reason", "j.reason", "Why: failed, timeout, disconnected, expired, overflow, retention or operator."),
        ("attempt", "j.attempt", "How many times the message had been handed out."),
        ("priority", "j.priority", "Priority of the message."),
        ("poster", "j.poster", "Number of the session that posted it."),
        ("holder", "j.holder", "Number of the session that had it."),
        ("client", "j.client", "Name of the client that had it, if it has one."),
        ("node", "j.node", "Node, or reaper, that wrote the row."),
        ("posted_at", "j.posted_at", "When the message was posted."),
        ("assigned_at", "j.assigned_at", "When it was last handed to a client."),
        ("ended_at", "j.ended_at", "When its life, or the attempt, ended. The journal's days go by this."),
        ("size", "j.size", "Bytes of its body."),
        ("error", "j.error", "What the client said was wrong."),
        ("body", "j.body", "Its body, if its queue keeps bodies."),
    ),
)

QUEUES = (
    "willow_queues_v1",
    "The queues and their settings, with how many messages live in each and how many sessions read it.",
    "FROM queues_queue q",
    (
        ("queue_id", "q.id", "Number of the queue."),
        ("queue_name", "q.name::text", "Name of the queue."),
        ("queue_tags", "q.tags", "Tags of the queue, sorted."),
        ("kind", "q.kind::text", "work or stream."),
        ("paused", "q.paused", "Whether it hands out nothing just now."),
        ("keep_bodies", "q.keep_bodies", "Whether the journal keeps the bodies of its messages."),
        ("retry_limit", "q.retry_limit", "Failures after which a message is dead; null: never."),
        ("max_length", "q.max_length", "Most live messages; null: no bound."),
        ("defined_at", "q.defined_at", "When the queue was made."),
        ("changed_at", "q.changed_at", "When its settings last changed."),
        ("newest_index", "q.newest_index", "Index of its newest message: how many were ever posted."),
        (
            "live",
            "q.next_sequence - 1 - coalesce((SELECT sum(cardinality(f.sequences))::bigint"
            " FROM delivery_freesequences f WHERE f.queue_id = q.id), 0)",
            "Messages that live in it now.",
        ),
        (
            "readers",
            "coalesce((SELECT sum((n.readers ->> q.id::text)::bigint)::bigint FROM clients_node n"
            " WHERE n.heartbeat_at > now() - interval '1 minute'), 0)",
            "Sessions that wait for its messages or hold some, on nodes heard of within a minute.",
        ),
    ),
)

CLIENTS = (
    "willow_clients_v1",
    "The clients that registered under a name, or own keys.",
    "FROM clients_client c",
    (
        ("client", "c.name::text", "Name of the client."),
        ("persistent", "c.persistent", "Whether it is kept for ever."),
        ("defined_at", "c.defined_at", "When it first registered."),
        ("last_seen_at", "c.last_seen_at", "When it was last connected."),
    ),
)

NODES = (
    "willow_nodes_v1",
    "The broker processes of the cluster.",
    "FROM clients_node n",
    (
        ("node", "n.name::text", "Name of the node."),
        ("started_at", "n.started_at", "When it started."),
        ("heartbeat_at", "n.heartbeat_at", "When it last said that it is alive."),
        ("draining", "n.draining", "Whether it is about to stop."),
        ("sockets", "n.sockets", "Clients connected to it."),
    ),
)

CLUSTERS = (
    "willow_dead_letter_clusters_v1",
    "Dead messages by what their errors have in common, over all days.",
    "FROM willow_dead_letter_clusters d GROUP BY d.queue_id, d.reason, d.signature",
    (
        ("queue_id", "d.queue_id", "Number of the queue in which they died."),
        ("queue_name", "(array_agg(d.queue_name ORDER BY d.day DESC))[1]", "Name of that queue."),
        ("queue_tags", "(jsonb_agg(d.queue_tags ORDER BY d.day DESC) -> 0)", "Tags of that queue, as a JSON list."),
        ("reason", "d.reason", "Why they died: failed, timeout, disconnected or expired."),
        ("signature", "d.signature", "What their error texts have in common; empty if there was no text."),
        ("count", "sum(d.count)::bigint", "How many messages died so."),
        ("first_seen", "min(d.first_seen)", "When the first of them died."),
        ("last_seen", "max(d.last_seen)", "When the last of them died."),
        ("example", "(array_agg(d.example ORDER BY d.day DESC))[1]", "The error text of one of them."),
    ),
)

# After a restore from a dump the transaction numbers in the journal are those of another server: some lie in this
# server's future, and would not count as settled for a long time. All rows that are there now are settled, so they
# get numbers that every server has passed. They are spread, because readers read whole transactions.
SETTLE_RESTORED = """
CREATE FUNCTION willow_journal_settle_restored(day date) RETURNS bigint LANGUAGE sql AS $$
    WITH settled AS (
        UPDATE delivery_journal SET tx = (3 + id % 512)::text::xid8
        WHERE ended_at >= day::timestamp AT TIME ZONE 'UTC' AND ended_at < (day + 1)::timestamp AT TIME ZONE 'UTC'
          AND tx >= '515'::xid8 AND tx <> pg_current_xact_id()
        RETURNING 1
    )
    SELECT count(*) FROM settled
$$;
COMMENT ON FUNCTION willow_journal_settle_restored(date) IS
    'After a restore from a dump: mark the rows of one day of the journal as settled; the data pipeline calls it.';
"""
NO_SETTLE_RESTORED = "DROP FUNCTION willow_journal_settle_restored(date)"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def made(view):
    name, meaning, source, columns = view
    chosen = ", ".join(f'{expression} AS "{column}"' for column, expression, _ in columns)
    comments = [f'COMMENT ON COLUMN {name}."{column}" IS {quoted(about)}' for column, _, about in columns]
    return ";\n".join(
        [f"CREATE VIEW {name} AS SELECT {chosen} {source}", f"COMMENT ON VIEW {name} IS {quoted(meaning)}", *comments]
    )


class Migration(migrations.Migration):

    dependencies = [("delivery", "0004_facts"), ("clients", "0001_initial"), ("queues", "0001_initial")]

    operations = [
        *(migrations.RunSQL(made(view), f"DROP VIEW {view[0]}") for view in (JOURNAL, QUEUES, CLIENTS, NODES, CLUSTERS)),
        migrations.RunSQL(SETTLE_RESTORED, NO_SETTLE_RESTORED),
    ]
