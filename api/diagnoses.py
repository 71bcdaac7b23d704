"""Causes and events, as they are answered."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from delivery.inspection.causes import Cause
from delivery.inspection.timeline import Event


class CauseSerializer(serializers.Serializer):
    code = serializers.CharField()
    sentence = serializers.CharField()
    blocks = serializers.BooleanField(help_text="Whether this alone keeps messages from moving.")
    facts = serializers.DictField()


class CausesSerializer(serializers.Serializer):
    causes = CauseSerializer(many=True)


class EventSerializer(serializers.Serializer):
    at = serializers.DateTimeField()
    what = serializers.CharField()
    sentence = serializers.CharField()
    facts = serializers.DictField()


class TimelineSerializer(serializers.Serializer):
    events = EventSerializer(many=True)


def shown_causes(causes: Iterable[Cause]) -> dict[str, Any]:
    names = ("code", "sentence", "blocks", "facts")
    return {"causes": [{name: getattr(cause, name) for name in names} for cause in causes]}


def shown_events(events: Iterable[Event]) -> dict[str, Any]:
    names = ("at", "what", "sentence", "facts")
    return {"events": [{name: getattr(event, name) for name in names} for event in events]}
