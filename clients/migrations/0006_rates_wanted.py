"""What each node's callers want of the rates of their keys, so that nodes share a rate by what is wanted where."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clients", "0005_what_sessions_read")]

    operations = [
        migrations.AddField(
            model_name="node",
            name="rates_wanted",
            field=models.JSONField(
                db_default=models.Value({}, models.JSONField()),
                help_text="By key: messages and bytes a second that its callers would post here.",
            ),
        ),
    ]
