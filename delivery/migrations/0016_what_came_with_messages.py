"""The journal keeps headers, group and key where it keeps bodies, and a second version of its view shows them."""

from django.db import migrations

COLUMNS = (
    "id, tx, queue_id, queue_name, queue_tags, index, outcome, reason, attempt, priority, poster, holder, client, node,"
    " posted_at, assigned_at, ended_at, size, error, body"
)
EXTRAS = "Headers, group and key that it was posted with, as a JSON object, if its queue keeps bodies."

# Whoever reads the first version reads the second: the data pipeline does, from the upgrade on.
VIEW = f"""
ALTER TABLE delivery_journal ADD COLUMN extras jsonb;
CREATE VIEW willow_journal_v2 AS SELECT {COLUMNS}, extras::text AS extras FROM delivery_journal;
COMMENT ON VIEW willow_journal_v2 IS
    'What became of each message: one row at the end of its life, and one for each failed attempt.';
DO $$
DECLARE
    meaning record;
    reader text;
BEGIN
    FOR meaning IN
        SELECT a.attname AS name, col_description(a.attrelid, a.attnum) AS words FROM pg_attribute a
        WHERE a.attrelid = 'willow_journal_v1'::regclass AND a.attnum > 0
    LOOP
        EXECUTE format('COMMENT ON COLUMN willow_journal_v2.%I IS %L', meaning.name, meaning.words);
    END LOOP;
    COMMENT ON COLUMN willow_journal_v2.extras IS '{EXTRAS}';
    FOR reader IN
        SELECT DISTINCT r.rolname FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) g
        JOIN pg_roles r ON r.oid = g.grantee
        WHERE c.oid = 'willow_journal_v1'::regclass AND g.privilege_type = 'SELECT' AND g.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT SELECT ON willow_journal_v2 TO %I', reader);
    END LOOP;
END
$$;
"""
NO_VIEW = """
DROP VIEW willow_journal_v2;
ALTER TABLE delivery_journal DROP COLUMN extras;
"""


class Migration(migrations.Migration):

    dependencies = [("delivery", "0015_iceberg_and_erasures")]

    operations = [migrations.RunSQL(VIEW, NO_VIEW)]
