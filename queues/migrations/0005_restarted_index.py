"""From which message on a queue has given out its IDs from 1 again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queues", "0004_queues_without_counters")]

    operations = [
        migrations.AddField(
            model_name="queuecounter",
            name="restarted_index",
            field=models.BigIntegerField(
                db_default=0, help_text="Newest index when the queue was last empty and its IDs began at 1 again."
            ),
        ),
    ]
