"""Filters of messages, as arguments and as JSON: which queues, and which of their messages."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from api.fields import BigInteger, MessageIds, Name, Priority, Seconds, Strict, Tags
from api.views import found, queue_numbered
from delivery.engine.matching import default_match, matches
from delivery.inspection.filters import MessageFilter
from delivery.inspection.tag_explainer import MATCHES
from delivery.moves.message_id import MessageId
from delivery.moves.states import Reason, State
from delivery.operating.dead_letters import dead_letter_queue_ids
from queues.models import Queue

HEADER_NAME = 128  # characters
LONGEST_TEXT = 1000  # characters that are searched for
STATES = {state.label: state for state in State}


class Conditions(Strict):
    """Conditions on messages, in any queue."""

    state = serializers.ListField(
        child=serializers.ChoiceField(choices=list(STATES)),
        required=False,
        help_text="One or more. Without it, any state.",
    )
    sequence = BigInteger(required=False, help_text="The ID of the message in its shard.")
    index = BigInteger(required=False)
    index_from = BigInteger(required=False)
    index_to = BigInteger(required=False)
    priority_from = Priority(required=False)
    priority_to = Priority(required=False)
    posted_before = serializers.DateTimeField(required=False)
    posted_after = serializers.DateTimeField(required=False)
    older_than = Seconds(required=False, help_text="Seconds since it was posted.")
    newer_than = Seconds(required=False, help_text="Seconds since it was posted.")
    text = serializers.CharField(
        required=False, max_length=LONGEST_TEXT, trim_whitespace=False, help_text="Exact text anywhere in the body."
    )
    header = serializers.CharField(
        required=False, max_length=HEADER_NAME, trim_whitespace=False, help_text="The name of a header that it has."
    )


class QueueChoice(Strict):
    """One queue by its number, or the queues of a name that match the tags."""

    queue = Name(required=False)
    tags = Tags(required=False)
    match = serializers.ChoiceField(choices=MATCHES, required=False)
    shard = BigInteger(required=False)


class MessageConditions(QueueChoice, Conditions):
    """A filter of messages."""


class DeadLetterConditions(QueueChoice, Conditions):
    """A filter of dead letters. Without a queue it covers all of them; `queue` may leave out `.dead`."""

    reason = serializers.ChoiceField(choices=Reason.values, required=False, help_text="Why they died.")
    signature = serializers.CharField(
        required=False, max_length=200, allow_blank=True, trim_whitespace=False, help_text="As the groups show it."
    )
    origin_shard = BigInteger(required=False, help_text="The queue that they came from.")


class Chosen(Strict):
    """Messages by their ids, or by a filter."""

    ids = MessageIds(required=False, help_text="shard/sequence/index of each.")

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if ("ids" in values) == ("filter" in values):
            raise serializers.ValidationError("Give either `ids` or `filter`.")
        return values


class ChosenMessages(Chosen):
    filter = MessageConditions(required=False)


class ChosenDeadLetters(Chosen):
    filter = DeadLetterConditions(required=False)


def chosen_queues(asked: dict[str, Any]) -> list[Queue]:
    """The queues of a filter."""
    if "shard" in asked:
        return [queue_numbered(asked["shard"])]
    if "queue" not in asked:
        raise serializers.ValidationError({"queue": "Name a queue, or give its number as `shard`."})
    named = list(Queue.objects.filter(name=asked["queue"]).order_by("id"))
    found(named or None, asked["queue"], f"There is no queue {asked['queue']}.")
    tags = frozenset(asked.get("tags", ()))
    match = asked.get("match") or default_match(tags)
    return [queue for queue in named if matches(queue.tags, tags, match)]


def chosen_dead_letter_queues(asked: dict[str, Any]) -> list[Queue]:
    if "shard" in asked:
        return [queue_numbered(asked["shard"])]
    listed = list(Queue.objects.filter(pk__in=dead_letter_queue_ids(name=asked.get("queue"))).order_by("id"))
    tags = frozenset(asked.get("tags", ()))
    match = asked.get("match") or default_match(tags)
    return [queue for queue in listed if matches(queue.tags, tags, match)]


def message_filter(asked: dict[str, Any], queues: list[Queue]) -> MessageFilter:
    now = timezone.now()
    before, after = asked.get("posted_before"), asked.get("posted_after")
    if "older_than" in asked:
        limit = now - timedelta(seconds=asked["older_than"])
        before = min(before, limit) if before else limit
    if "newer_than" in asked:
        limit = now - timedelta(seconds=asked["newer_than"])
        after = max(after, limit) if after else limit
    index = asked.get("index")
    given = {
        "index_from": index if index is not None else asked.get("index_from"),
        "index_to": index if index is not None else asked.get("index_to"),
    }
    return MessageFilter(
        queue_ids=tuple(queue.pk for queue in queues),
        states=frozenset(STATES[label] for label in asked.get("state", ())),
        sequence=asked.get("sequence"),
        priority_from=asked.get("priority_from"),
        priority_to=asked.get("priority_to"),
        posted_before=before,
        posted_after=after,
        text=asked.get("text"),
        header=asked.get("header"),
        reason=asked.get("reason"),
        signature=asked.get("signature"),
        origin_queue_id=asked.get("origin_shard"),
        **{name: value for name, value in given.items() if value is not None},
    )


def queues_of_ids(ids: list[MessageId]) -> list[Queue]:
    return list(Queue.objects.filter(pk__in={one.queue_id for one in ids}))
