"""How much a key may use, and from where; and what a node is short of."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('clients', '0003_owners_of_names'),
    ]

    operations = [
        migrations.AddField(
            model_name='key',
            name='quotas',
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), help_text='By name: where the key differs from the defaults.'),
        ),
        migrations.AddField(
            model_name='key',
            name='addresses',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), db_default=models.Value([], django.contrib.postgres.fields.ArrayField(models.TextField())), help_text='Networks from which the key is good; none: everywhere.', size=None),
        ),
        migrations.AddField(
            model_name='node',
            name='alarms',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), db_default=models.Value([], django.contrib.postgres.fields.ArrayField(models.TextField())), help_text='What it is short of, so that it refuses posts: memory, disk.', size=None),
        ),
    ]
