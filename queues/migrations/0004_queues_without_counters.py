"""The queue's own row no longer counts; the views that read its counters have been made anew before."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("queues", "0003_counters"), ("delivery", "0009_counts_of_ended_messages")]

    operations = [
        migrations.RemoveConstraint(model_name="queue", name="queue_counters"),
        migrations.RemoveField(model_name="queue", name="newest_index"),
        migrations.RemoveField(model_name="queue", name="next_sequence"),
        migrations.RunSQL(
            "ALTER TABLE queues_queue RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold)",
            migrations.RunSQL.noop,
        ),
    ]
