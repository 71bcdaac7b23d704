"""A permission to give the grant `admin` to keys."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("console", "0001_permissions")]

    operations = [
        migrations.AlterModelOptions(
            name="consolepermission",
            options={
                "default_permissions": (),
                "managed": False,
                "permissions": (
                    ("look", "Can look at the console"),
                    ("see_bodies", "Can see the bodies of messages"),
                    ("see_audit", "Can see the audit trail"),
                    ("purge_queues", "Can purge queues"),
                    ("change_messages", "Can retry, drop and move messages and change their priority"),
                    ("redrive_dead_letters", "Can redrive and purge dead letters"),
                    ("grant_admin", "Can make and change keys with the grant `admin`"),
                    ("disconnect_clients", "Can disconnect clients and fail their messages"),
                ),
            },
        ),
    ]
