"""`willow_post` makes one statement for most calls, and looks at its input without a costly regular expression."""

from importlib import import_module

from django.db import migrations

posts = import_module("delivery.migrations.0011_transactional_posts")
in_alarm = import_module("delivery.migrations.0020_no_transactional_posts_in_alarm")

# Until when `willow_post` refuses, in seconds of the epoch: a number that PL/pgSQL can read without a statement. Nodes
# that are short of something write it with their heartbeats (refuse_transactional_posts.sql).
REFUSED_UNTIL = "CREATE SEQUENCE delivery_posts_refused_until MINVALUE 0"

# Whether a name is printable is asked without counting: `{1,200}` made that expression cost more than all of the rest.
# Expressions without a SELECT cost next to nothing in PL/pgSQL, statements do: so most calls make only the insert.
FUNCTION = """
CREATE OR REPLACE FUNCTION willow_post(
    queue text, body bytea, tags text[] DEFAULT '{{}}', priority bigint DEFAULT 0, delay float8 DEFAULT NULL,
    ttl float8 DEFAULT NULL, key text DEFAULT NULL, dedupe text DEFAULT NULL, headers jsonb DEFAULT NULL,
    "group" text DEFAULT NULL, "unique" text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    wrong text := CASE
        WHEN queue IS NULL OR octet_length(queue) NOT BETWEEN 1 AND 200 OR queue ~ '[^ -~]'
            THEN 'queue must be a name of 1 to 200 printable ASCII characters'
        WHEN starts_with(queue, 'service:') THEN 'queue must not be that of a service: requests need somebody who waits for the reply'
        WHEN body IS NULL THEN 'body must not be null'
        WHEN octet_length(body) > 16777216 THEN 'body must have at most 16777216 bytes, not ' || octet_length(body)
        WHEN tags IS NULL OR cardinality(tags) > 64 THEN 'tags must be a list of at most 64 tags'
        WHEN priority IS NULL OR priority NOT BETWEEN 0 AND 4294967295 THEN 'priority must be a whole number from 0 to 4294967295'
        WHEN delay NOT BETWEEN 0 AND 315360000 THEN 'delay must be seconds from 0 to 10 years (315360000)'
        WHEN ttl NOT BETWEEN 0 AND 315360000 THEN 'ttl must be seconds from 0 to 10 years (315360000)'
        WHEN length(key) NOT BETWEEN 1 AND 500 THEN 'key must be a text of 1 to 500 characters'
        WHEN length(dedupe) NOT BETWEEN 1 AND 500 THEN 'dedupe must be a text of 1 to 500 characters'
        WHEN length("group") NOT BETWEEN 1 AND 200 THEN 'group must be a text of 1 to 200 characters'
        WHEN length("unique") NOT BETWEEN 1 AND 200 THEN 'unique must be a text of 1 to 200 characters'
    END;
    given bigint := nextval('delivery_transactionalpost_id_seq');
BEGIN
    IF wrong IS NULL AND cardinality(tags) > 0 THEN
        SELECT 'each of tags must be a text of 1 to 200 characters' INTO wrong FROM unnest(tags) AS t (tag)
        WHERE tag IS NULL OR length(tag) NOT BETWEEN 1 AND 200 LIMIT 1;
    END IF;
    IF wrong IS NULL AND headers IS NOT NULL THEN
        wrong := willow_wrong_headers(headers);
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'willow_post: %', wrong USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF session_user <> current_user THEN
        IF NOT pg_has_role(session_user, current_user, 'MEMBER') AND NOT EXISTS (
            SELECT FROM delivery_rolegrant g
            WHERE willow_post.queue LIKE g.like_pattern
            AND pg_has_role(session_user, to_regrole(quote_ident(g.role)), 'MEMBER')
        ) THEN
            RAISE EXCEPTION 'willow_post: the role % may not post to the queue %', session_user, queue
            USING ERRCODE = 'insufficient_privilege',
                  HINT = 'Somebody who runs Willow can allow it: manage.py post_role grant ROLE --queues PATTERN';
        END IF;
    END IF;
    IF to_timestamp(pg_sequence_last_value('delivery_posts_refused_until')) > clock_timestamp() THEN
        RAISE EXCEPTION 'willow_post: the broker is short of %, and takes no posts until that is over', (
            SELECT coalesce(string_agg(DISTINCT a.name, ' and '), 'memory or disk')
            FROM clients_node n, unnest(n.alarms) AS a (name)
        ) USING ERRCODE = 'insufficient_resources';
    END IF;
    INSERT INTO delivery_transactionalpost (id, queue, tags, body, priority, delay, ttl, key, dedupe, headers, "group", "unique")
    OVERRIDING SYSTEM VALUE
    VALUES (given, $1, $3, $2, $4, $5, $6, $7, $8, $9, $10, $11);
    RETURN given;
END
$$;
"""


def make_function(apps, schema_editor):
    execute(FUNCTION, schema_editor)
    schema_editor.execute(in_alarm.NO_FUNCTION, params=None)


def make_former_function(apps, schema_editor):
    execute(posts.FUNCTION.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"), schema_editor)
    in_alarm.make_function(apps, schema_editor)


def execute(function, schema_editor):
    """In the schema that Willow's tables are in, whatever search path a caller has."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
    schema_editor.execute(function.format(schema=schema), params=None)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0021_unique_texts_in_the_journal")]

    operations = [
        migrations.RunSQL(REFUSED_UNTIL, "DROP SEQUENCE delivery_posts_refused_until"),
        migrations.RunPython(make_function, make_former_function),
    ]
