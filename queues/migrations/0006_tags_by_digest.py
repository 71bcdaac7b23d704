"""A queue's name and tags are unique by a digest of the tags: an entry of an index holds 2,700 bytes, 64 tags are more."""

from django.db import migrations, models

DIGEST = """
CREATE FUNCTION willow_tags_digest(tags text[]) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sha256(convert_to(tags::text, 'UTF8'));
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0005_restarted_index")]

    operations = [
        migrations.RunSQL(DIGEST, "DROP FUNCTION willow_tags_digest(text[])"),
        migrations.AddConstraint(
            model_name="queue",
            constraint=models.UniqueConstraint(
                models.F("name"),
                models.Func("tags", function="willow_tags_digest"),
                name="queue_name_and_tags_digest",
                violation_error_message="A queue with this name and these tags already exists.",
            ),
        ),
        migrations.RemoveConstraint(model_name="queue", name="queue_name_and_tags"),
    ]
