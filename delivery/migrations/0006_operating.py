"""The audit, redrives of dead letters, and orders for sessions."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('delivery', '0005_views'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RedriveJob',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('created_by', models.TextField(editable=False)),
                ('criteria', models.JSONField(default=dict, help_text='The filter, for people.')),
                ('bounds', models.JSONField(default=list)),
                ('ids', models.JSONField(help_text='The chosen messages, instead of all of a filter.', null=True)),
                ('target_queue_id', models.BigIntegerField(help_text='Empty: each goes back to where it came from.', null=True)),
                ('rate', models.FloatField(help_text='Messages a second; empty: as fast as it goes.', null=True)),
                ('state', models.CharField(choices=[('running', 'running'), ('done', 'done'), ('cancelled', 'cancelled before its end'), ('undoing', 'being undone'), ('undone', 'undone')], default='running', max_length=10)),
                ('total', models.BigIntegerField(help_text='Messages that the filter chose at the start, as far as they were counted.')),
                ('position', models.IntegerField(default=0)),
                ('after_index', models.BigIntegerField(default=0)),
                ('moved', models.BigIntegerField(default=0)),
                ('skipped', models.BigIntegerField(default=0, help_text='Held by a client, or gone.')),
                ('failed', models.BigIntegerField(default=0, help_text='Their queue is gone, or full.')),
                ('returned', models.BigIntegerField(default=0, help_text='Brought back by undoing.')),
                ('problem', models.TextField(help_text='Why the last one failed.', null=True)),
                ('stepped_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('ended_at', models.DateTimeField(null=True)),
                ('undo_until', models.DateTimeField(help_text='Until then, what nobody has taken yet can be brought back.')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ['running', 'undoing'])), fields=['stepped_at'], name='redrive_under_way')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['running', 'done', 'cancelled', 'undoing', 'undone'])), name='redrive_state_known'), models.CheckConstraint(condition=models.Q(('rate__isnull', True), ('rate__gt', 0), _connector='OR'), name='redrive_rate_positive')],
            },
        ),
        migrations.CreateModel(
            name='SessionOrder',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('session_id', models.BigIntegerField()),
                ('node_id', models.IntegerField(help_text='Where the session was live.')),
                ('disconnects', models.BooleanField(help_text='Otherwise: look again which claims the session still has.')),
                ('asked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'indexes': [models.Index(fields=['node_id'], name='session_order_of_node')],
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('actor', models.TextField(help_text="The staff member's name, or the client whose key was used.")),
                ('actor_kind', models.CharField(help_text='staff, key or system.', max_length=10)),
                ('action', models.TextField(help_text='What was done, such as `drop messages`.')),
                ('target', models.TextField(help_text='On what: a queue, a session, a job.')),
                ('messages', models.BigIntegerField(help_text='How many messages it was done to.', null=True)),
                ('details', models.JSONField(default=dict, help_text='The choice, the counts, the reasons.')),
                ('user', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'audit entry',
                'verbose_name_plural': 'audit entries',
                'indexes': [models.Index(fields=['target', 'id'], name='audit_of_target')],
            },
        ),
        migrations.CreateModel(
            name='RedrivenMessage',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('queue_id', models.BigIntegerField()),
                ('sequence', models.BigIntegerField()),
                ('index', models.BigIntegerField()),
                ('dead_queue_id', models.BigIntegerField()),
                ('origin_queue_id', models.BigIntegerField(null=True)),
                ('origin_index', models.BigIntegerField(null=True)),
                ('origin_attempts', models.IntegerField(null=True)),
                ('reason', models.TextField(null=True)),
                ('error', models.TextField(null=True)),
                ('client', models.TextField(null=True)),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='delivery.redrivejob')),
            ],
            options={
                'indexes': [models.Index(fields=['job', 'id'], name='redriven_of_job')],
            },
        ),
    ]
