"""The result of an action on many messages."""

from rest_framework import serializers


class TallySerializer(serializers.Serializer):
    done = serializers.IntegerField()
    skipped = serializers.IntegerField(help_text="Held by a client, in another state, or gone.")
    failed = serializers.IntegerField()
    reasons = serializers.DictField(child=serializers.IntegerField(), help_text="How many were not done, and why.")
    more = serializers.BooleanField(help_text="The action reached its limit; repeat it for the rest.")
