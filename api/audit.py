"""/api/audit: what operators did."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import require_operator
from api.fields import Paging, page_of
from api.pages import page_of_rows
from api.views import ApiView
from delivery.models import AuditEntry
from delivery.operating.permissions import May

LONGEST = 500  # characters


class AuditSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    actor_kind = serializers.ChoiceField(choices=["staff", "key", "system"])
    action = serializers.CharField()
    target = serializers.CharField()
    messages = serializers.IntegerField(allow_null=True)
    details = serializers.DictField()


class AuditArguments(Paging):
    actor = serializers.CharField(required=False, max_length=LONGEST)
    action = serializers.CharField(required=False, max_length=LONGEST)
    target = serializers.CharField(required=False, max_length=LONGEST)


def shown_entry(entry: AuditEntry) -> dict[str, Any]:
    names = ("id", "at", "actor", "actor_kind", "action", "target", "messages", "details")
    return {name: getattr(entry, name) for name in names}


class AuditApi(ApiView):
    staff_needs = {"GET": (May.SEE_AUDIT,)}

    @extend_schema(parameters=[AuditArguments], responses=page_of(AuditSerializer), operation_id="list_audit")
    def get(self, request: Request) -> Response:
        """What operators did, the newest first. For operators."""
        require_operator(request)
        asked = self.asked(AuditArguments)
        names = ("actor", "action", "target")
        entries = AuditEntry.objects.filter(**{name: asked[name] for name in names if name in asked})
        return Response(page_of_rows(entries, ("-id",), asked, shown=shown_entry))
