"""What Django's models cannot say about queues: tags are a sorted set, and the hot row leaves room on its page."""

from django.db import migrations

TAGS_ARE_A_SET = """
CREATE FUNCTION willow_is_sorted_set(tags text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN tags = coalesce((SELECT array_agg(DISTINCT tag COLLATE "C" ORDER BY tag COLLATE "C") FROM unnest(tags) AS tag), '{}');

ALTER TABLE queues_queue ADD CONSTRAINT queue_tags_are_a_sorted_set CHECK (willow_is_sorted_set(tags));
"""

TAGS_ARE_ANYTHING = """
ALTER TABLE queues_queue DROP CONSTRAINT queue_tags_are_a_sorted_set;
DROP FUNCTION willow_is_sorted_set(text[]);
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0001_initial")]

    operations = [
        migrations.RunSQL(TAGS_ARE_A_SET, TAGS_ARE_ANYTHING),
        # Every batch of posts updates this row: with half of each page free the new version stays on it.
        migrations.RunSQL(
            "ALTER TABLE queues_queue SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,"
            " autovacuum_vacuum_threshold = 500)",
            "ALTER TABLE queues_queue RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold)",
        ),
    ]
