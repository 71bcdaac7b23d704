"""What the reaper remembers of its own work."""

from django.db import models


class DutyRun(models.Model):
    """When a reaper last did each of its duties, and what came of it."""

    duty = models.CharField(max_length=60, primary_key=True)
    ran_at = models.DateTimeField()
    seconds = models.FloatField()
    handled = models.IntegerField()
    handled_total = models.BigIntegerField(db_default=0)
    error = models.TextField(blank=True, db_default="")

    def __str__(self) -> str:
        return self.duty
