"""An index that a client has seen never comes again, also after a crash that takes its message back."""

from django.db import migrations, models

# Unlogged: PostgreSQL empties it when it recovers from a crash, and that is what it is for.
NO_CRASH = "CREATE UNLOGGED TABLE queues_no_crash (since timestamptz NOT NULL)"


class Migration(migrations.Migration):
    dependencies = [("queues", "0007_who_defined_a_queue")]

    operations = [
        migrations.AddField(
            model_name="queuecounter",
            name="flushed_index",
            field=models.BigIntegerField(
                db_default=0,
                help_text="No index above this one was given out that a crash of the storage could take back.",
            ),
        ),
        migrations.RunSQL(NO_CRASH, "DROP TABLE queues_no_crash"),
    ]
