"""The counters of queues get a narrow table of their own: no constraint of the queue is checked when they move."""

import django.db.models.deletion
from django.db import migrations, models

WITH_EACH_QUEUE = """
CREATE FUNCTION willow_make_counter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO queues_counter (queue_id) VALUES (NEW.id);
    RETURN NULL;
END
$$;
CREATE TRIGGER queue_has_a_counter AFTER INSERT ON queues_queue
FOR EACH ROW EXECUTE FUNCTION willow_make_counter();
"""
WITHOUT = """
DROP TRIGGER queue_has_a_counter ON queues_queue;
DROP FUNCTION willow_make_counter();
"""
COPY = """
INSERT INTO queues_counter (queue_id, newest_index, next_sequence) SELECT id, newest_index, next_sequence FROM queues_queue
"""
COPY_BACK = """
UPDATE queues_queue q SET newest_index = c.newest_index, next_sequence = c.next_sequence
FROM queues_counter c WHERE c.queue_id = q.id
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0002_tags_are_a_set")]

    operations = [
        migrations.CreateModel(
            name="QueueCounter",
            fields=[
                (
                    "queue",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="counter",
                        db_constraint=False,
                        serialize=False,
                        to="queues.queue",
                    ),
                ),
                ("newest_index", models.BigIntegerField(db_default=0, help_text="Index of the newest message.")),
                (
                    "next_sequence",
                    models.BigIntegerField(db_default=1, help_text="An ID above those of all messages that live."),
                ),
            ],
            options={"db_table": "queues_counter"},
        ),
        # Every batch of posts updates a row: most of each page is free for its next versions.
        migrations.RunSQL(
            "ALTER TABLE queues_counter SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0,"
            " autovacuum_vacuum_threshold = 500)",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            "ALTER TABLE queues_counter ADD CONSTRAINT counter_of_queue"
            " FOREIGN KEY (queue_id) REFERENCES queues_queue (id) ON DELETE CASCADE",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(COPY, COPY_BACK),
        migrations.RunSQL(WITH_EACH_QUEUE, WITHOUT),
    ]
