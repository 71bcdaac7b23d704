"""What the rates of queues have saved up."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('delivery', '0017_kept_replies'),
    ]

    operations = [
        migrations.CreateModel(
            name='RateBucket',
            fields=[
                ('queue_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('tokens', models.FloatField(help_text='Messages, as of filled_at.')),
                ('filled_at', models.DateTimeField()),
                ('wanted', models.BooleanField(help_text='Somebody waited for the next one.')),
            ],
        ),
    ]
