"""A name that a client registers belongs to whoever registered it first."""

import django.db.models.deletion
from django.db import migrations, models

# Of a name that is registered now, or held for its client's return, the owner is known. The others belong to the first
# who registers them from now on.
KNOWN_OWNERS = """
    UPDATE clients_client c SET bound = true, owner_id = (SELECT client_id FROM clients_key k WHERE k.id = s.key_id)
    FROM clients_session s WHERE s.client_id = c.id AND s.ended_at IS NULL
"""


class Migration(migrations.Migration):

    dependencies = [
        ('clients', '0002_free_places'),
    ]

    operations = [
        migrations.AddField(
            model_name='client',
            name='owner',
            field=models.ForeignKey(editable=False, help_text='The client whose key registered this name first; empty: a connection without a key.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='registered', to='clients.client'),
        ),
        migrations.AddField(
            model_name='client',
            name='bound',
            field=models.BooleanField(db_default=False, editable=False, help_text='Whether anybody has registered it, so that `owner` holds.'),
        ),
        migrations.RunSQL(KNOWN_OWNERS, migrations.RunSQL.noop),
    ]
