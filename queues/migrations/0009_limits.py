"""Limits of how many messages are claimed at a time and handed out in a second, and for how long replies are kept."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("queues", "0008_indexes_flushed_ahead"),
    ]

    operations = [
        migrations.AddField(
            model_name="queue",
            name="burst",
            field=models.FloatField(
                blank=True,
                help_text="With a rate: most messages at once after a pause; empty: 1, or the rate if that is more.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="group_in_flight",
            field=models.IntegerField(
                blank=True,
                help_text="Most messages of one group that are claimed at a time; empty: no bound.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="keep_replies",
            field=models.FloatField(
                blank=True,
                help_text="Seconds for which the reply of a finish can be asked for; empty: not at all.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="max_in_flight",
            field=models.IntegerField(
                blank=True, help_text="Most messages that are claimed at a time; empty: no bound.", null=True
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="rate",
            field=models.FloatField(
                blank=True, help_text="Most messages a second that are handed out; empty: no bound.", null=True
            ),
        ),
        migrations.AddConstraint(
            model_name="queue",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "stream"), _negated=True),
                    models.Q(
                        ("burst__isnull", True),
                        ("group_in_flight__isnull", True),
                        ("max_in_flight__isnull", True),
                        ("rate__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="queue_streams_have_no_limits",
            ),
        ),
        migrations.AddConstraint(
            model_name="queue",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("group_in_flight__isnull", True), ("group_in_flight__gte", 1), _connector="OR"),
                    models.Q(("max_in_flight__isnull", True), ("max_in_flight__gte", 1), _connector="OR"),
                    models.Q(("rate__isnull", True), ("rate__gt", 0), _connector="OR"),
                    models.Q(("burst__isnull", True), ("burst__gte", 1), _connector="OR"),
                    models.Q(("keep_replies__isnull", True), ("keep_replies__gte", 0), _connector="OR"),
                ),
                name="queue_limits",
            ),
        ),
    ]
