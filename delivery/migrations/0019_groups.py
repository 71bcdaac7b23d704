"""Messages of groups that wait behind others, and the groups that are to be decided about."""

import django.db.models.expressions
import django.db.models.lookups
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('delivery', '0018_rates'),
    ]

    operations = [
        migrations.CreateModel(
            name='Regrouping',
            fields=[
                ('queue_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('after_group', models.TextField(db_default='', help_text='Those up to this one have been gone through.')),
                ('until', models.DateTimeField(help_text='When all nodes know of the change.')),
            ],
        ),
        migrations.CreateModel(
            name='TouchedGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('queue_id', models.BigIntegerField()),
                ('group_key', models.TextField()),
            ],
        ),
        migrations.AlterField(
            model_name='message',
            name='state',
            field=models.SmallIntegerField(choices=[(0, 'ready'), (1, 'delayed'), (2, 'claimed'), (3, 'retained'), (4, 'behind')]),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('group_key__isnull', False), models.Q(('state', 4), _negated=True), models.Q(models.Q(('state', 1), _negated=True), ('attempts__gt', 0), _connector='OR')), fields=['queue_id', 'group_key'], name='message_of_group'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(models.F('queue_id'), models.F('group_key'), django.db.models.expressions.CombinedExpression(models.F('priority'), '*', models.Value(-1)), models.F('index'), condition=models.Q(('state', 4)), name='message_behind'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(models.F('queue_id'), django.db.models.expressions.CombinedExpression(models.F('priority'), '*', models.Value(-1)), models.F('index'), condition=models.Q(django.db.models.lookups.Exact(django.db.models.expressions.CombinedExpression(models.F('state'), '+', models.Value(0)), 4)), name='message_behind_in_order'),
        ),
    ]
