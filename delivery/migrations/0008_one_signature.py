"""One signature for an error, in the console as in the data pipeline: pipeline/facts/signatures.py has the same rules.

No index and no stored fact goes by the function. Redrives under way that were begun for an old signature would find
nothing by it, and end as if they were done: they are cancelled, and can be begun again.
"""

from importlib import import_module

from django.db import migrations

NOT_IN_WORD = r"(?<![0-9A-Za-z_])"
HEX = "[0-9a-fA-F]"

# What must be there for the rule to find anything, and costs much less to look for; the rule; what it puts in place.
RULES = (
    (r"rest ~ '  |[\u0001-\u001f\u007f\u0085\u00a0]'", r"[\u0001-\u0020\u007f\u0085\u00a0]+", " "),
    ("strpos(rest, '://') > 0", NOT_IN_WORD + r"[a-z]{2,10}://[^ '\"<>]{4,}", "<url>"),
    ("strpos(rest, '-') > 0", f"{HEX}{{8}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}}", "<uuid>"),
    (
        "digits AND (strpos(rest, '-') > 0 OR strpos(rest, '/') > 0)",
        r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}[0-9:.,]*(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?",
        "<time>",
    ),
    ("digits AND strpos(rest, ':') > 0", r"[0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.,]*", "<time>"),
    ("strpos(rest, '@') > 0", r"[^ @<>'\"(),;:=]{1,64}@[^ @<>'\"(),;:=]{3,}", "<mail>"),
    ("strpos(rest, '0x') > 0 OR strpos(rest, '0X') > 0", f"{NOT_IN_WORD}0[xX]{HEX}{{3,}}", "<hex>"),
    ("digits", f"{NOT_IN_WORD}[a-fA-F]{{1,7}}[0-9]{HEX}{{7,}}", "<hex>"),
    ("digits", f"{NOT_IN_WORD}[0-9]+[a-fA-F]{HEX}{{6,}}", "<hex>"),
    ("strpos(rest, $q$'$q$) > 0", NOT_IN_WORD + r"'[^']+'", "'…'"),
    ("strpos(rest, '\"') > 0", NOT_IN_WORD + r'"[^"]+"', '"…"'),
    ("strpos(rest, '`') > 0", NOT_IN_WORD + r"`[^`]+`", "`…`"),
    ("strpos(rest, '/') > 0", r"(?<![0-9A-Za-z_/])(?:[.~]{1,2})?/[^ /'\":;,()<>…]+/[^ '\":;,()<>]*", "/…"),
    (r"strpos(rest, ':\') > 0", NOT_IN_WORD + r"[A-Za-z]:\\[^ '\":;,()<>…]+", r"\\…"),
    ("digits", r"(?:(?<![0-9A-Za-z_])[+-])?[0-9][0-9.,]*", "#"),
    ("strpos(rest, '  ') > 0", " +", " "),
)

STEP = """
    IF {} THEN
        rest := regexp_replace(rest, $rule${}$rule$, $rule${}$rule$, 'g');
    END IF;"""

SIGNATURE = f"""
CREATE OR REPLACE FUNCTION willow_error_signature(error text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    rest text := left(coalesce(error, ''), 1000);
    digits boolean := rest ~ '[0-9]';
BEGIN{"".join(STEP.format(*rule) for rule in RULES)}
    RETURN btrim(left(btrim(rest), 300));
END
$$;
COMMENT ON FUNCTION willow_error_signature(text) IS
    'What an error has in common with others: its text without what differs from case to case.';
"""
BEFORE = (
    "DROP FUNCTION willow_error_signature(text);"
    + import_module("delivery.migrations.0007_error_signatures").SIGNATURE
)

CANCEL_REDRIVES = """
UPDATE delivery_redrivejob
SET state = 'cancelled', ended_at = now(), problem = 'Errors are grouped in another way since an upgrade: begin it again.'
WHERE state = 'running' AND criteria ->> 'signature' <> '';
"""


class Migration(migrations.Migration):

    dependencies = [("delivery", "0007_error_signatures")]

    operations = [
        migrations.RunSQL(CANCEL_REDRIVES, migrations.RunSQL.noop),
        migrations.RunSQL(SIGNATURE, BEFORE),
    ]
