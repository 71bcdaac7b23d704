"""/api/keys: the keys that clients connect with, without their secrets. api/key_making.py makes and ends them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import require_operator
from api.fields import Paging, page_of
from api.pages import page_of_rows
from api.views import ApiView, found
from clients.grants import written_grants
from clients.models import Key
from clients.selectors import grants_of, key_state, keys_with_grants


class KeySerializer(serializers.Serializer):
    id = serializers.IntegerField()
    prefix = serializers.CharField(help_text="The key's first characters.")
    client = serializers.CharField()
    state = serializers.ChoiceField(choices=("valid", "revoked", "expired"))
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
    grants = serializers.ListField(child=serializers.CharField())


def shown_key(key: Key) -> dict[str, Any]:
    return {
        "id": key.pk,
        "prefix": key.prefix,
        "client": key.client.name,
        "state": key_state(key),
        "expires_at": key.expires_at,
        "last_used_at": key.last_used_at,
        "grants": written_grants(grants_of(key)),
    }


class KeysApi(ApiView):
    @extend_schema(parameters=[Paging], responses=page_of(KeySerializer), operation_id="list_keys")
    def get(self, request: Request) -> Response:
        """Keys, without their secrets. For operators."""
        require_operator(request)
        return Response(page_of_rows(keys_with_grants(), ("id",), self.asked(Paging), shown=shown_key))


class KeyApi(ApiView):
    @extend_schema(responses=KeySerializer, operation_id="get_key")
    def get(self, request: Request, number: int) -> Response:
        """One key. For operators."""
        require_operator(request)
        return Response(shown_key(_key(number)))


def _key(number: int) -> Key:
    return found(
        keys_with_grants().filter(pk=number).first(), str(number), f"There is no key with the number {number}."
    )
