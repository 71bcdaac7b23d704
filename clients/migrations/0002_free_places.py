"""Nodes say how many messages their readers could still be given."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('clients', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='node',
            name='free_places',
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), help_text='By queue number: messages that those sessions could still be given.'),
        ),
    ]
