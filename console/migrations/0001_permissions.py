"""The console's permissions."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="ConsolePermission",
            fields=[("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))],
            options={
                "permissions": (
                    ("look", "Can look at the console"),
                    ("see_bodies", "Can see the bodies of messages"),
                    ("see_audit", "Can see the audit trail"),
                    ("purge_queues", "Can purge queues"),
                    ("change_messages", "Can retry, drop and move messages and change their priority"),
                    ("redrive_dead_letters", "Can redrive and purge dead letters"),
                    ("disconnect_clients", "Can disconnect clients and fail their messages"),
                ),
                "managed": False,
                "default_permissions": (),
            },
        ),
    ]
