"""What errors have in common: their first line, without the parts that differ from one message to the next."""

from django.db import migrations

SIGNATURE = r"""
CREATE FUNCTION willow_error_signature(error text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(regexp_replace(regexp_replace(regexp_replace(
        split_part(coalesce(error, ''), E'\n', 1),
        '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}', '<id>', 'g'),
        '"[^"]*"|''[^'']*''|`[^`]*`', '<text>', 'g'),
        '0x[0-9a-fA-F]+|[0-9]+([.,:][0-9]+)*', '<n>', 'g'), 200)
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0006_operating")]

    operations = [migrations.RunSQL(SIGNATURE, "DROP FUNCTION willow_error_signature(text)")]
