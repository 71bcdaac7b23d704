"""What screens show is read once for all who look, and still nobody is told that a new queue is not there."""

import pytest

from console import readings
from queues.services import queue_create


@pytest.mark.django_db
def test_a_queue_that_came_since_the_last_reading_is_found() -> None:
    readings.queue_figures()
    made = queue_create(name="made-since")
    found = readings.figures_of(made.pk)
    assert found is not None and found.id == made.pk


@pytest.mark.django_db
def test_a_queue_that_is_not_there_is_not_found() -> None:
    assert readings.figures_of(987_654_321) is None
