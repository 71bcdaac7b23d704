"""`willow_post` refuses tags that are lists of lists: no node could move such a post, nor any that was behind it."""

from importlib import import_module

from django.db import migrations

cheaper = import_module("delivery.migrations.0022_cheaper_transactional_posts")

FORMER_CHECK = """
        SELECT 'each of tags must be a text of 1 to 200 characters' INTO wrong FROM unnest(tags) AS t (tag)
        WHERE tag IS NULL OR length(tag) NOT BETWEEN 1 AND 200 LIMIT 1;
"""
# An array of PostgreSQL has any number of dimensions, also one that was declared as text[].
CHECK = """
        IF array_ndims(tags) > 1 THEN
            wrong := 'tags must be a list of texts, not of lists';
        ELSE
            SELECT 'each of tags must be a text of 1 to 200 characters' INTO wrong FROM unnest(tags) AS t (tag)
            WHERE tag IS NULL OR length(tag) NOT BETWEEN 1 AND 200 LIMIT 1;
        END IF;
"""
FUNCTION = cheaper.FUNCTION.replace(FORMER_CHECK, CHECK)

# What was committed before is delivered, under all tags that it named.
ONE_LIST = """
UPDATE delivery_transactionalpost SET tags = ARRAY(SELECT unnest(tags)) WHERE array_ndims(tags) > 1
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0023_pending_days_since")]

    operations = [
        migrations.RunPython(
            lambda apps, editor: cheaper.execute(FUNCTION, editor),
            lambda apps, editor: cheaper.execute(cheaper.FUNCTION, editor),
        ),
        migrations.RunSQL(ONE_LIST, migrations.RunSQL.noop),
    ]
