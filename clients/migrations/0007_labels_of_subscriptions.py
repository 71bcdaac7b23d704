"""Labels are the client's own: several of its subscriptions may have the same, or none."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("clients", "0006_rates_wanted")]

    operations = [
        migrations.RemoveConstraint(model_name="subscription", name="subscription_label_once_per_client"),
    ]
