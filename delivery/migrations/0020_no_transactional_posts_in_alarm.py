"""`willow_post` refuses, as nodes do, while every node is short of memory or disk."""

from django.db import migrations

# A node is taken for dead after WILLOW_NODE_LAPSE, which is seldom more than this. There are as many rows as nodes.
FUNCTION = """
CREATE FUNCTION willow_refuse_in_alarm() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    short_of text;
BEGIN
    SELECT string_agg(DISTINCT a.name, ' and ') INTO short_of
    FROM clients_node n LEFT JOIN LATERAL unnest(n.alarms) AS a (name) ON true
    WHERE n.heartbeat_at > now() - interval '1 minute' AND NOT n.draining
    HAVING bool_and(a.name IS NOT NULL);
    IF short_of IS NOT NULL THEN
        RAISE EXCEPTION 'willow_post: the broker is short of %, and takes no posts until that is over', short_of
        USING ERRCODE = 'insufficient_resources';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER refuse_in_alarm BEFORE INSERT ON delivery_transactionalpost
FOR EACH STATEMENT EXECUTE FUNCTION willow_refuse_in_alarm();
"""

NO_FUNCTION = """
DROP TRIGGER refuse_in_alarm ON delivery_transactionalpost;
DROP FUNCTION willow_refuse_in_alarm();
"""


def make_function(apps, schema_editor):
    """In the schema that Willow's tables are in, whatever search path a caller has."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
    schema_editor.execute(FUNCTION.format(schema=schema), params=None)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0019_groups"), ("clients", "0006_rates_wanted")]

    operations = [
        migrations.RunPython(make_function, lambda apps, editor: editor.execute(NO_FUNCTION, params=None)),
    ]
