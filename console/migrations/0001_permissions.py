"""The console's permissions."""

from django.db import migrations, models

import console.permissions


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="ConsolePermission",
            fields=[("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))],
            options={
                "permissions": console.permissions.CONSOLE_PERMISSIONS,
                "managed": False,
                "default_permissions": (),
            },
        ),
    ]
