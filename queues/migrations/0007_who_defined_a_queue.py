"""A queue remembers whose key defined it, for the quota of that key."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queues", "0006_tags_by_digest")]

    operations = [
        migrations.AddField(
            model_name="queue",
            name="definer",
            field=models.BigIntegerField(
                editable=False, help_text="The client whose key defined it; empty: somebody else.", null=True
            ),
        ),
        migrations.AddIndex(
            model_name="queue",
            index=models.Index(
                condition=models.Q(("definer__isnull", False)), fields=["definer"], name="queue_of_definer"
            ),
        ),
    ]
