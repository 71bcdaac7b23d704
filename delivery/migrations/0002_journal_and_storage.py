"""The journal, partitioned by day, and vacuum settings made for tables whose rows come and go."""

from django.db import migrations

JOURNAL = """
CREATE SEQUENCE delivery_journal_id;
CREATE TABLE delivery_journal (
    id bigint NOT NULL DEFAULT nextval('delivery_journal_id'),
    tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
    queue_id bigint NOT NULL,
    queue_name text NOT NULL,
    queue_tags text[] NOT NULL,
    index bigint NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('finished', 'popped', 'retried', 'dead', 'dropped')),
    reason text CHECK (reason IN ('failed', 'timeout', 'disconnected', 'expired', 'overflow', 'retention', 'operator')),
    attempt integer NOT NULL,
    priority bigint NOT NULL,
    poster bigint,
    holder bigint,
    client text,
    node text,
    posted_at timestamptz NOT NULL,
    assigned_at timestamptz,
    ended_at timestamptz NOT NULL DEFAULT now(),
    size integer NOT NULL,
    error text,
    body bytea
) PARTITION BY RANGE (ended_at);
ALTER SEQUENCE delivery_journal_id OWNED BY delivery_journal.id;
-- Readers take settled rows by the transaction that wrote them: ids become visible out of order.
CREATE INDEX delivery_journal_tx ON delivery_journal (tx);
CREATE INDEX delivery_journal_message ON delivery_journal (queue_id, index);
CREATE TABLE delivery_journal_default PARTITION OF delivery_journal DEFAULT;

-- Makes the partition of one day (UTC); rows that already went to the default partition move into it.
CREATE FUNCTION willow_journal_make_day(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    partition text := 'delivery_journal_' || to_char(day, 'YYYYMMDD');
    first timestamptz := day::timestamp AT TIME ZONE 'UTC';
    past timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    IF to_regclass(partition) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE delivery_journal INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', partition);
    EXECUTE format(
        'WITH moved AS (DELETE FROM delivery_journal_default WHERE ended_at >= %L AND ended_at < %L RETURNING *)'
        ' INSERT INTO %I SELECT * FROM moved', first, past, partition);
    EXECUTE format('ALTER TABLE delivery_journal ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', partition, first, past);
    RETURN true;
END
$$;
SELECT willow_journal_make_day((now() AT TIME ZONE 'UTC')::date + ahead) FROM generate_series(0, 3) AS ahead;
"""

NO_JOURNAL = """
DROP FUNCTION willow_journal_make_day(date);
DROP TABLE delivery_journal;
"""

# Dead rows at the head of a queue are what every claim walks over: vacuum by count, not by share of the table.
BUSY_TABLES = ("delivery_message", "delivery_freesequences", "delivery_pendingnotice", "delivery_dedupevalue")
VACUUM_OFTEN = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0"
VACUUM_AS_USUAL = "autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_cost_delay"


class Migration(migrations.Migration):
    dependencies = [("delivery", "0001_initial")]

    operations = [
        migrations.RunSQL(JOURNAL, NO_JOURNAL),
        *(
            migrations.RunSQL(f"ALTER TABLE {table} SET ({VACUUM_OFTEN})", f"ALTER TABLE {table} RESET ({VACUUM_AS_USUAL})")
            for table in BUSY_TABLES
        ),
    ]
