"""From which transaction on a day got new rows: what they change is computed, and not the whole day."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0022_cheaper_transactional_posts")]

    operations = [
        migrations.AddField(
            model_name="pendingday",
            name="since_tx",
            field=models.BigIntegerField(
                db_comment="New rows are of transactions from this one on; empty: all rows may be new.", null=True
            ),
        )
    ]
