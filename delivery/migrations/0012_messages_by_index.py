"""Messages are found by queue and index, and claims by queue and holder: a claim writes two index entries, not four.

The table is made anew for the order of its columns: what a claim changes stands before the body, which stands last. So
PostgreSQL's log of a claim need not repeat the body: it leaves out what two versions on one page have alike at their
ends. Half of each page is left free for the version that is claimed.
"""

from django.db import migrations, models

COLUMNS = (
    "queue_id, index, sequence, priority, posted_at, poster, label, poster_node, notify, state, attempts, holder,"
    " assigned_at, work_timeout, lease_until, available_at, expires_at, key, last_error, last_client, origin_queue_id,"
    " origin_index, origin_attempts, dead_reason, died_at, body"
)
MADE_ANEW = f"""
ALTER TABLE delivery_message RENAME TO delivery_message_before;
CREATE TABLE delivery_message (
    queue_id bigint NOT NULL,
    index bigint NOT NULL,
    sequence bigint NOT NULL,
    priority bigint NOT NULL,
    posted_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    poster bigint,
    label bigint,
    poster_node integer,
    notify smallint NOT NULL DEFAULT 0,
    state smallint NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    holder bigint,
    assigned_at timestamptz,
    work_timeout float8,
    lease_until timestamptz,
    available_at timestamptz,
    expires_at timestamptz,
    key text,
    last_error text,
    last_client text,
    origin_queue_id bigint,
    origin_index bigint,
    origin_attempts integer,
    dead_reason text,
    died_at timestamptz,
    body bytea NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
INSERT INTO delivery_message ({COLUMNS}) SELECT {COLUMNS} FROM delivery_message_before ORDER BY queue_id, index;
DROP TABLE delivery_message_before;
ALTER TABLE delivery_message ADD PRIMARY KEY (queue_id, index);
CREATE INDEX message_ready ON delivery_message (queue_id, (priority * -1), index) WHERE state = 0;
CREATE INDEX message_claimed ON delivery_message (queue_id, holder, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX message_delayed ON delivery_message (queue_id, available_at) WHERE state = 1;
CREATE INDEX message_expiry ON delivery_message (queue_id, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX message_key ON delivery_message (queue_id, key) WHERE key IS NOT NULL;
"""
AS_BEFORE = """
ALTER TABLE delivery_message DROP CONSTRAINT delivery_message_pkey, ADD PRIMARY KEY (queue_id, sequence);
ALTER TABLE delivery_message RESET (fillfactor);
DROP INDEX message_claimed;
CREATE UNIQUE INDEX message_index_once_per_queue ON delivery_message (queue_id, index) WHERE index > 0;
CREATE INDEX message_lease ON delivery_message (queue_id, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX message_holder ON delivery_message (holder) WHERE holder IS NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0011_transactional_posts")]

    operations = [
        migrations.RunSQL(
            MADE_ANEW,
            AS_BEFORE,
            state_operations=[
                migrations.RemoveConstraint(model_name="message", name="message_index_once_per_queue"),
                migrations.AlterField(
                    model_name="message",
                    name="pk",
                    field=models.CompositePrimaryKey(
                        "queue_id", "index", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                migrations.RemoveIndex(model_name="message", name="message_lease"),
                migrations.RemoveIndex(model_name="message", name="message_holder"),
                migrations.AddIndex(
                    model_name="message",
                    index=models.Index(
                        condition=models.Q(("lease_until__isnull", False)),
                        fields=["queue_id", "holder", "lease_until"],
                        name="message_claimed",
                    ),
                ),
            ],
        ),
    ]
