"""`willow_post` notes when it was called: a delay counts from then, however long its transaction stays open."""

from importlib import import_module

from django.db import migrations

cheaper = import_module("delivery.migrations.0022_cheaper_transactional_posts")
former = import_module("delivery.migrations.0024_tags_are_one_list")

# Said in the function, not as the column's default: changing that would wait for every open transaction that has posted.
FUNCTION = former.FUNCTION.replace(
    '"group", "unique")\n    OVERRIDING', '"group", "unique", posted_at)\n    OVERRIDING'
).replace("$10, $11);", "$10, $11, clock_timestamp());")


class Migration(migrations.Migration):
    dependencies = [("delivery", "0024_tags_are_one_list")]

    operations = [
        migrations.RunPython(
            lambda apps, editor: cheaper.execute(FUNCTION, editor),
            lambda apps, editor: cheaper.execute(former.FUNCTION, editor),
        ),
    ]
