"""Services: workers in their line, configuration with its history, and notices that know they are replies."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


# The number of a worker's turn. Not an identity column: a worker takes a new number each time it joins the line.
LINE = "CREATE SEQUENCE delivery_worker_turn AS bigint"
NO_LINE = "DROP SEQUENCE delivery_worker_turn"

# Each request rewrites the row of a worker, and the dead entries are at the head of the line: see 0002.
VACUUM_OFTEN = "ALTER TABLE delivery_worker SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)"
VACUUM_AS_USUAL = "ALTER TABLE delivery_worker RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold)"


class Migration(migrations.Migration):

    dependencies = [
        ('clients', '0001_initial'),
        ('delivery', '0002_journal_and_storage'),
        ('queues', '0002_tags_are_a_set'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='pendingnotice',
            name='notify',
            field=models.SmallIntegerField(db_default=0, help_text='As of the message: tells requests from posts.'),
        ),
        migrations.AlterField(
            model_name='pendingnotice',
            name='queue_name',
            field=models.TextField(help_text='Set when the post named several queues, and for requests.', null=True),
        ),
        migrations.CreateModel(
            name='Service',
            fields=[],
            options={
                'proxy': True,
                'indexes': [],
                'constraints': [],
            },
            bases=('queues.queue',),
        ),
        migrations.CreateModel(
            name='ServiceConfig',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=192, unique=True, verbose_name='service')),
                ('heartbeat_interval', models.FloatField(default=5.0, help_text='Seconds between two heartbeats that workers are asked to keep.')),
                ('config', models.JSONField(default=dict, help_text='A JSON object. Its workers get it as JSON, XML or ZFL.')),
                ('version', models.IntegerField(default=1, editable=False)),
            ],
            options={
                'verbose_name': 'service configuration',
                'constraints': [models.CheckConstraint(condition=models.Q(('name__regex', '^[\\x20-\\x7e]+$')), name='service_name_is_ascii'), models.CheckConstraint(condition=models.Q(('heartbeat_interval__gt', 0)), name='service_heartbeat_interval')],
            },
        ),
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('session', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, serialize=False, to='clients.session')),
                ('node_id', models.IntegerField(help_text='Node on which it said `ready`.')),
                ('identity', models.TextField(help_text="The worker's name for itself.")),
                ('services', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('queue_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='The queues of its services.', size=None)),
                ('slots', models.IntegerField(help_text='Requests that it takes at once.')),
                ('free', models.IntegerField(help_text='Requests that it can still be given before it says `ready` again.')),
                ('waited_since', models.BigIntegerField(help_text='Its place in the line: the lowest number is next.')),
                ('heartbeat_interval', models.FloatField(help_text='Seconds between two of its heartbeats.')),
                ('seen_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='When it was last heard of.')),
                ('config_type', models.TextField()),
                ('config_version', models.TextField()),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('free__gt', 0)), fields=['waited_since'], name='worker_line')],
                'constraints': [models.CheckConstraint(condition=models.Q(('free__gte', 0), ('slots__gte', 1)), name='worker_slots'), models.CheckConstraint(condition=models.Q(('heartbeat_interval__gt', 0)), name='worker_heartbeat_interval')],
            },
        ),
        migrations.CreateModel(
            name='ServiceConfigVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.IntegerField()),
                ('heartbeat_interval', models.FloatField()),
                ('config', models.JSONField()),
                ('restored_from', models.IntegerField(help_text='The older version that this one repeats.', null=True)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('changed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('service', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='delivery.serviceconfig')),
            ],
            options={
                'verbose_name': 'version of a service configuration',
                'verbose_name_plural': 'versions of service configurations',
                'ordering': ['service', '-version'],
                'constraints': [models.UniqueConstraint(fields=('service', 'version'), name='service_version_once')],
            },
        ),
        migrations.RunSQL(LINE, NO_LINE),
        migrations.RunSQL(VACUUM_OFTEN, VACUUM_AS_USUAL),
    ]
