"""Both the facts of the pipeline and the operators' actions."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("delivery", "0005_views"), ("delivery", "0011_error_signatures")]

    operations = []
