"""How many connections a key has is counted without a look at those that it had."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("clients", "0007_labels_of_subscriptions")]

    operations = [
        migrations.AddIndex(
            model_name="session",
            index=models.Index(condition=Q(("node__isnull", False)), fields=["key"], name="live_session_of_key"),
        ),
    ]
