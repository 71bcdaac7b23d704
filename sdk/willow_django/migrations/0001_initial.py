"""Posts until they are relayed, and what became of tasks."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='OutboxMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=200)),
                ('body', models.BinaryField()),
                ('dedupe', models.CharField(help_text='By this the broker knows a post that is repeated.', max_length=500)),
                ('arguments', models.JSONField(default=dict, help_text='Tags, priority and the like.')),
                ('written_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('refused', models.TextField(blank=True, help_text='Why the broker will never take it.')),
            ],
            options={
                'ordering': ('id',),
                'indexes': [models.Index(condition=models.Q(('refused', '')), fields=['id'], name='willow_outbox_waiting')],
            },
        ),
        migrations.CreateModel(
            name='TaskRecord',
            fields=[
                ('id', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('path', models.TextField(help_text="Where the task's function is.")),
                ('backend', models.CharField(max_length=100)),
                ('queue_name', models.CharField(max_length=200)),
                ('priority', models.IntegerField()),
                ('run_after', models.DateTimeField(null=True)),
                ('arguments', models.JSONField(help_text='args and kwargs')),
                ('status', models.CharField(max_length=10)),
                ('enqueued_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('last_attempted_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('return_value', models.JSONField(null=True)),
                ('errors', models.JSONField(default=list)),
                ('worker_ids', models.JSONField(default=list)),
            ],
            options={
                'indexes': [models.Index(fields=['finished_at'], name='willow_task_finished')],
            },
        ),
    ]
