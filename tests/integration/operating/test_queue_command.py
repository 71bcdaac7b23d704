"""`manage.py queue`: the same changes and the same refusals as in the console and over REST."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from delivery.models import AuditEntry
from queues.models import Queue

pytestmark = pytest.mark.django_db


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("queue", *arguments, stdout=out)
    return out.getvalue()


def test_limits_are_set_changed_and_taken_away() -> None:
    command("create", "orders", "--tag", "eu", "--group-in-flight", "1", "--rate", "0.5", "--updatable", "on")
    assert "max_in_flight, rate" in command(
        "change", "orders", "--tag", "eu", "--max-in-flight", "42", "--rate", "none"
    )
    shown = json.loads(command("show", "orders", "--tag", "eu"))
    assert (shown["tags"], shown["group_in_flight"], shown["max_in_flight"]) == (["eu"], 1, 42)
    assert (shown["rate"], shown["updatable"], shown["retry_limit"]) == (None, True, 3)
    command("pause", "orders", "--tag", "eu")
    assert command("why", "orders", "--tag", "eu").startswith("The queue is paused: ")
    command("resume", "orders", "--tag", "eu")
    assert not Queue.objects.get().paused
    assert AuditEntry.objects.filter(action="change queue").count() == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("change", "work", "--rate", "0"), "rate: This must be messages a second"),
        (("change", "work", "--rate", "nan"), "rate: This must be messages a second"),
        (("change", "work", "--updatable", "perhaps"), "updatable: This must be on or off."),
        (("change", "work", "--burst", "inf"), "burst: This must be a number of messages"),
        (("change", "work", "--max-in-flight", "-1"), "max_in_flight: This must be a whole number"),
        (("change", "work", "--max-in-flight", "many"), "max_in_flight: .*integer"),
        (("change", "work", "--group-in-flight", "1.5"), "group_in_flight: .*integer"),
        (("change", "stream", "--rate", "5"), "rate: `rate` does not exist on streams"),
        (("create", "new", "--kind", "stream", "--max-in-flight", "5"), "max_in_flight: .*streams"),
        (("create", "work"), "already exists"),
        (("change", "work"), "Say what to change"),
        (("why", "work", "--tag", "eu"), "There is no queue work with the tags eu."),
    ],
)
def test_what_is_wrong_is_named(arguments: tuple[str, ...], said: str) -> None:
    command("create", "work")
    command("create", "stream", "--kind", "stream")
    with pytest.raises(CommandError, match=said):
        command(*arguments)
