"""Nodes say which queues each of their sessions reads."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('clients', '0004_quotas_and_ranges'),
    ]

    operations = [
        migrations.AddField(
            model_name='node',
            name='reading',
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), help_text='By session number: numbers of the queues it reads, or looked into last. Not all, if they are many.'),
        ),
    ]
