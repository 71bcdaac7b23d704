"""Messages are found by queue and index, and claims by queue and holder: a claim writes two index entries, not four."""

from django.db import migrations, models

BY_INDEX = """
ALTER TABLE delivery_message DROP CONSTRAINT delivery_message_pkey, ADD PRIMARY KEY (queue_id, index)
"""
BY_SEQUENCE = """
ALTER TABLE delivery_message DROP CONSTRAINT delivery_message_pkey, ADD PRIMARY KEY (queue_id, sequence)
"""
# A message that is claimed changes on its own page, and the log then holds only what has changed.
ROOM = "ALTER TABLE delivery_message SET (fillfactor = 50)"
NO_ROOM = "ALTER TABLE delivery_message RESET (fillfactor)"


class Migration(migrations.Migration):
    dependencies = [("delivery", "0010_no_checks_on_the_way")]

    operations = [
        migrations.RemoveConstraint(model_name="message", name="message_index_once_per_queue"),
        migrations.RunSQL(
            BY_INDEX,
            BY_SEQUENCE,
            state_operations=[
                migrations.AlterField(
                    model_name="message",
                    name="pk",
                    field=models.CompositePrimaryKey(
                        "queue_id", "index", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                )
            ],
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
        migrations.RunSQL(ROOM, NO_ROOM),
    ]
