"""Posts inside an application's own transaction: `willow_post`, and the table from which nodes take what it wrote."""

from django.db import migrations, models

TABLES = """
CREATE TABLE delivery_transactionalpost (
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id bigint GENERATED ALWAYS AS IDENTITY,
    queue text NOT NULL,
    tags text[] NOT NULL,
    body bytea NOT NULL,
    priority bigint NOT NULL,
    delay float8,
    ttl float8,
    key text,
    dedupe text,
    headers jsonb,
    "group" text,
    "unique" text,
    role name NOT NULL DEFAULT session_user,
    posted_at timestamptz NOT NULL DEFAULT now(),
    refused text,
    PRIMARY KEY (transaction, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
"""

# Called within the transactions of applications, so it looks at nothing that others write, and locks nothing.
FUNCTION = """
CREATE FUNCTION willow_post(
    queue text, body bytea, tags text[] DEFAULT '{{}}', priority bigint DEFAULT 0, delay float8 DEFAULT NULL,
    ttl float8 DEFAULT NULL, key text DEFAULT NULL, dedupe text DEFAULT NULL, headers jsonb DEFAULT NULL,
    "group" text DEFAULT NULL, "unique" text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    wrong text := CASE
        WHEN queue IS NULL OR queue !~ '^[ -~]{{1,200}}$' THEN 'queue must be a name of 1 to 200 printable ASCII characters'
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
    given bigint;
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
    IF NOT pg_has_role(session_user, current_user, 'MEMBER') AND NOT EXISTS (
        SELECT FROM delivery_rolegrant g JOIN pg_roles r ON r.rolname = g.role
        WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND willow_post.queue LIKE g.like_pattern
    ) THEN
        RAISE EXCEPTION 'willow_post: the role % may not post to the queue %', session_user, queue
        USING ERRCODE = 'insufficient_privilege',
              HINT = 'Somebody who runs Willow can allow it: manage.py post_role grant ROLE --queues PATTERN';
    END IF;
    INSERT INTO delivery_transactionalpost (queue, tags, body, priority, delay, ttl, key, dedupe, headers, "group", "unique")
    VALUES ($1, $3, $2, $4, $5, $6, $7, $8, $9, $10, $11)
    RETURNING id INTO given;
    RETURN given;
END
$$;
CREATE FUNCTION willow_wrong_headers(headers jsonb) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN jsonb_typeof(headers) <> 'object' THEN 'headers must be an object of texts by name'
        ELSE (
            SELECT CASE
                WHEN count(*) > 64 OR sum(octet_length(h.name) + octet_length(h.value #>> '{{}}')) > 16384
                    THEN 'headers must be at most 64, of 16384 bytes in all'
                WHEN NOT bool_and(h.name ~ '^[a-z0-9._-]{{1,128}}$' AND NOT starts_with(h.name, 'willow-'))
                    THEN 'names of headers must be 1 to 128 characters of a-z 0-9 - _ . and not begin with willow-'
                WHEN NOT bool_and(jsonb_typeof(h.value) = 'string' AND octet_length(h.value #>> '{{}}') <= 4096)
                    THEN 'values of headers must be texts of at most 4096 bytes'
            END
            FROM jsonb_each(CASE jsonb_typeof(headers) WHEN 'object' THEN headers ELSE '{{}}' END) AS h (name, value)
        )
    END
$$;
CREATE FUNCTION willow_post(
    queue text, body text, tags text[] DEFAULT '{{}}', priority bigint DEFAULT 0, delay float8 DEFAULT NULL,
    ttl float8 DEFAULT NULL, key text DEFAULT NULL, dedupe text DEFAULT NULL, headers jsonb DEFAULT NULL,
    "group" text DEFAULT NULL, "unique" text DEFAULT NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT {schema}.willow_post($1, pg_catalog.convert_to($2, 'UTF8'), $3, $4, $5, $6, $7, $8, $9, $10, $11)
$$;
CREATE FUNCTION willow_post(
    queue text, body jsonb, tags text[] DEFAULT '{{}}', priority bigint DEFAULT 0, delay float8 DEFAULT NULL,
    ttl float8 DEFAULT NULL, key text DEFAULT NULL, dedupe text DEFAULT NULL, headers jsonb DEFAULT NULL,
    "group" text DEFAULT NULL, "unique" text DEFAULT NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT {schema}.willow_post($1, pg_catalog.convert_to($2::text, 'UTF8'), $3, $4, $5, $6, $7, $8, $9, $10, $11)
$$;
REVOKE EXECUTE ON FUNCTION willow_post(text, bytea, text[], bigint, float8, float8, text, text, jsonb, text, text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION willow_post(text, text, text[], bigint, float8, float8, text, text, jsonb, text, text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION willow_post(text, jsonb, text[], bigint, float8, float8, text, text, jsonb, text, text) FROM PUBLIC;
"""

NO_FUNCTION = """
DROP FUNCTION willow_post(text, bytea, text[], bigint, float8, float8, text, text, jsonb, text, text);
DROP FUNCTION willow_post(text, text, text[], bigint, float8, float8, text, text, jsonb, text, text);
DROP FUNCTION willow_post(text, jsonb, text[], bigint, float8, float8, text, text, jsonb, text, text);
DROP FUNCTION willow_wrong_headers(jsonb);
"""


def make_function(apps, schema_editor):
    """In the schema that Willow's tables are in, whatever search path a caller has."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
    schema_editor.execute(FUNCTION.format(schema=schema), params=None)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0010_no_checks_on_the_way")]

    operations = [
        migrations.CreateModel(
            name="RoleGrant",
            fields=[
                ("pk", models.CompositePrimaryKey("role", "pattern", blank=True, editable=False, primary_key=True, serialize=False)),
                ("role", models.CharField(max_length=63, help_text="A role of PostgreSQL that may post by willow_post.")),
                ("pattern", models.CharField(max_length=200, help_text="To queues of these names; `*` stands for any characters.")),
                ("like_pattern", models.TextField(help_text="The same for LIKE.")),
            ],
        ),
        migrations.RunSQL(TABLES, "DROP TABLE delivery_transactionalpost"),
        migrations.RunPython(make_function, lambda apps, editor: editor.execute(NO_FUNCTION, params=None)),
        migrations.CreateModel(
            name="TransactionalPost",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("queue", models.TextField()),
                ("posted_at", models.DateTimeField()),
                ("refused", models.TextField(null=True)),
            ],
            options={"managed": False, "db_table": "delivery_transactionalpost"},
        ),
    ]
