"""The archive as Iceberg tables, and erasures."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('delivery', '0014_headers_and_texts'),
    ]

    operations = [
        migrations.CreateModel(
            name='ArchiveLeftover',
            fields=[
                ('path', models.TextField(db_comment='Path below the archive.', primary_key=True, serialize=False)),
                ('added_at', models.DateTimeField(db_comment='When it was put on the list.', db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'db_table': 'willow_archive_leftovers',
                'db_table_comment': "What is in the data pipeline's archive and does not count.",
            },
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(db_comment='Number of the erasure.', primary_key=True, serialize=False)),
                ('selection', models.JSONField(db_comment='What it is about. The name of a client is removed at the end.')),
                ('target', models.TextField(db_comment='What it is about, without a name; as in the audit.')),
                ('actor', models.TextField(db_comment='Who ordered it: an account of the operating system.')),
                ('state', models.CharField(db_comment='begun or done.', max_length=5)),
                ('before', models.JSONField(db_comment='How many rows had something to erase, by where they are.')),
                ('after', models.JSONField(db_comment='The same at the end: nothing.', null=True)),
                ('begun_at', models.DateTimeField(db_comment='When it began. What ended later is not touched.', db_default=django.db.models.functions.datetime.Now())),
                ('ended_at', models.DateTimeField(db_comment='When it was finished.', null=True)),
            ],
            options={
                'db_table': 'willow_erasures',
                'db_table_comment': 'What the data pipeline was told to erase, with counts before and after.',
            },
        ),
        migrations.CreateModel(
            name='IcebergNamespaceProperty',
            fields=[
                ('pk', models.CompositePrimaryKey('catalog_name', 'namespace', 'property_key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('catalog_name', models.CharField(db_comment='Name of the catalog: willow.', max_length=255)),
                ('namespace', models.CharField(db_comment='Name of the namespace: willow.', max_length=255)),
                ('property_key', models.CharField(db_comment='Name of the property: exists.', max_length=255)),
                ('property_value', models.CharField(db_comment='Value of the property: true.', max_length=1000)),
            ],
            options={
                'db_table': 'iceberg_namespace_properties',
                'db_table_comment': 'The namespaces of the catalog of Iceberg tables.',
            },
        ),
        migrations.CreateModel(
            name='IcebergTable',
            fields=[
                ('pk', models.CompositePrimaryKey('catalog_name', 'table_namespace', 'table_name', blank=True, editable=False, primary_key=True, serialize=False)),
                ('catalog_name', models.CharField(db_comment='Name of the catalog: willow.', max_length=255)),
                ('table_namespace', models.CharField(db_comment='Namespace of the table: willow.', max_length=255)),
                ('table_name', models.CharField(db_comment='Name of the table: journal, queue_facts, …', max_length=255)),
                ('metadata_location', models.CharField(db_comment='URL of the metadata that says which files count.', max_length=1000, null=True)),
                ('previous_metadata_location', models.CharField(db_comment='URL of the metadata before the last commit.', max_length=1000, null=True)),
                ('iceberg_type', models.CharField(db_comment='TABLE.', max_length=5, null=True)),
            ],
            options={
                'db_table': 'iceberg_tables',
                'db_table_comment': "The Iceberg tables of the data pipeline's archive.",
            },
        ),
        migrations.DeleteModel(
            name='ArchivePart',
        ),
        migrations.AddField(
            model_name='pendingday',
            name='posted_only',
            field=models.BooleanField(db_comment='Whether the only news is that messages which were posted on the day have ended.', db_default=False),
        ),
        migrations.AddField(
            model_name='pipelinerun',
            name='bytes',
            field=models.BigIntegerField(db_comment='Bytes of the files that the run archived them in.', db_default=0),
        ),
        migrations.AddField(
            model_name='pipelinerun',
            name='steps',
            field=models.JSONField(db_comment='Seconds that each step of the run took.', db_default={}),
        ),
        migrations.AlterField(
            model_name='pipelinerun',
            name='command',
            field=models.TextField(db_comment='run, follow, backfill or erase.'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['begun', 'done'])), name='erasure_state_known'),
        ),
    ]
