"""The console keeps no rows. Its permissions need a model to belong to."""

from django.db import models

from console.permissions import CONSOLE_PERMISSIONS


class ConsolePermission(models.Model):
    class Meta:
        managed = False
        default_permissions = ()
        permissions = CONSOLE_PERMISSIONS
