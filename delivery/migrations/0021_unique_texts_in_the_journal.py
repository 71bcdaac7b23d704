"""The journal keeps unique texts, too, where it keeps bodies: its view says so."""

from django.db import migrations

EXTRAS = "{} that it was posted with, as a JSON object, if its queue keeps bodies."
SAY = "COMMENT ON COLUMN willow_journal_v2.extras IS '{}'"


class Migration(migrations.Migration):
    dependencies = [("delivery", "0020_no_transactional_posts_in_alarm")]

    operations = [
        migrations.RunSQL(
            SAY.format(EXTRAS.format("Headers, group, key and unique text")),
            SAY.format(EXTRAS.format("Headers, group and key")),
        )
    ]
