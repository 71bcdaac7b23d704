"""Free IDs leave the database; what they also told, how many messages live, is counted by node."""

from importlib import import_module

from django.db import migrations, models

views = import_module("delivery.migrations.0005_views")

NAME, MEANING, _, COLUMNS = views.QUEUES
LIVE = (
    "c.newest_index - coalesce((SELECT sum(e.messages)::bigint FROM delivery_endedcount e WHERE e.queue_id = q.id), 0)"
)
COUNTED = {"newest_index": "c.newest_index", "live": LIVE}
QUEUES = (
    NAME,
    MEANING,
    "FROM queues_queue q JOIN queues_counter c ON c.queue_id = q.id",
    tuple((column, COUNTED.get(column, expression), about) for column, expression, about in COLUMNS),
)

COUNT_WHAT_ENDED = """
INSERT INTO delivery_endedcount (queue_id, node_id, messages)
SELECT c.queue_id, 0, c.newest_index - (c.next_sequence - 1 - coalesce(f.free, 0))
FROM queues_counter c
LEFT JOIN (
    SELECT queue_id, sum(cardinality(sequences))::bigint AS free FROM delivery_freesequences GROUP BY queue_id
) f ON f.queue_id = c.queue_id
"""
# A view cannot be replaced by one that reads other tables without losing who may read it.
KEEP_READERS = """
DO $$
DECLARE reader text;
    readers text[] := ARRAY(
        SELECT DISTINCT grantee::text FROM information_schema.role_table_grants
        WHERE table_name = 'willow_queues_v1' AND privilege_type = 'SELECT' AND grantee <> current_user
    );
BEGIN
    DROP VIEW willow_queues_v1;
    EXECUTE $view$%s$view$;
    FOREACH reader IN ARRAY readers LOOP
        EXECUTE format('GRANT SELECT ON willow_queues_v1 TO %%s', CASE reader WHEN 'PUBLIC' THEN reader ELSE quote_ident(reader) END);
    END LOOP;
END
$$
"""


def remade(view):
    first, *comments = views.made(view).split(";\n")
    return [KEEP_READERS % first, *comments]


class Migration(migrations.Migration):
    dependencies = [("delivery", "0008_one_signature"), ("queues", "0003_counters")]

    operations = [
        migrations.CreateModel(
            name="EndedCount",
            fields=[
                ("pk", models.CompositePrimaryKey("queue_id", "node_id", blank=True, editable=False, primary_key=True, serialize=False)),
                ("queue_id", models.BigIntegerField()),
                (
                    "node_id",
                    models.BigIntegerField(help_text="The node that ended them; 0: reaper, operators, former nodes."),
                ),
                ("messages", models.BigIntegerField()),
            ],
        ),
        # Every batch that ends messages updates a row: most of each page is free for its next versions.
        migrations.RunSQL(
            "ALTER TABLE delivery_endedcount SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0,"
            " autovacuum_vacuum_threshold = 500)",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(COUNT_WHAT_ENDED, migrations.RunSQL.noop),
        migrations.RunSQL(remade(QUEUES), remade(views.QUEUES)),
        migrations.DeleteModel(name="FreeSequences"),
    ]
