"""The console keeps no rows. Its permissions need a model to belong to."""

from django.db import models


class ConsolePermission(models.Model):
    """The console's own permissions; the others come with their models (delivery/operating/permissions.py)."""

    class Meta:
        managed = False
        default_permissions = ()
        permissions = (
            ("look", "Can look at the console"),
            ("see_bodies", "Can see the bodies of messages"),
            ("see_audit", "Can see the audit trail"),
            ("purge_queues", "Can purge queues"),
            ("change_messages", "Can retry, drop and move messages and change their priority"),
            ("redrive_dead_letters", "Can redrive and purge dead letters"),
            ("grant_admin", "Can make and change keys with the grant `admin`"),
            ("disconnect_clients", "Can disconnect clients and fail their messages"),
        )
