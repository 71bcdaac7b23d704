"""The journal knows messages that their posters took back."""

from django.db import migrations

CHECK = """
    ALTER TABLE delivery_journal
        DROP CONSTRAINT delivery_journal_reason_check,
        ADD CONSTRAINT delivery_journal_reason_check CHECK (reason IN ({reasons}))
"""
BEFORE = "'failed', 'timeout', 'disconnected', 'expired', 'overflow', 'retention', 'operator'"


class Migration(migrations.Migration):
    dependencies = [("delivery", "0008_one_signature")]

    operations = [
        migrations.RunSQL(
            CHECK.format(reasons=f"{BEFORE}, 'cancelled'"),
            # NOT VALID: rows that say `cancelled` stay.
            CHECK.format(reasons=BEFORE) + " NOT VALID",
        ),
    ]
