"""/api/keys: keys without secrets, how much they may use, and from where. api/key_making.py makes and ends them."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import operator_of, require_operator
from api.fields import Paging, Strict, page_of
from api.pages import page_of_rows
from api.views import ApiView, found
from clients.grants import written_grants
from clients.models import Key
from clients.quotas import MOST, QUOTA_NAMES, effective_quotas
from clients.selectors import grants_of, key_state, keys_with_grants
from delivery.operating.clients import key_set_addresses, key_set_quotas
from delivery.operating.permissions import May


class QuotasSerializer(Strict):
    """0 means no limit; a quota that is left out has its default."""

    queues = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    clients = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    connections = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    waiting_messages = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    waiting_bytes = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    posts_per_second = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    bytes_per_second = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    readings = serializers.IntegerField(min_value=0, max_value=MOST, required=False)


class KeySerializer(serializers.Serializer):
    id = serializers.IntegerField()
    prefix = serializers.CharField(help_text="The key's first characters.")
    client = serializers.CharField()
    state = serializers.ChoiceField(choices=("valid", "revoked", "expired"))
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
    grants = serializers.ListField(child=serializers.CharField())
    quotas = QuotasSerializer(help_text="What holds, with the defaults.")
    own_quotas = QuotasSerializer(help_text="Where the key differs from the defaults.")
    addresses = serializers.ListField(child=serializers.CharField(), help_text="Empty: it is good from everywhere.")


class AddressesField(serializers.ListField):
    def __init__(self, **how: Any) -> None:
        child = serializers.CharField(max_length=50)
        super().__init__(**{"child": child, "max_length": 100, "help_text": "Such as 10.0.0.0/8.", **how})


class KeyChangeSerializer(Strict):
    quotas = QuotasSerializer(required=False)
    addresses = AddressesField(required=False)


def shown_key(key: Key) -> dict[str, Any]:
    return {
        "id": key.pk,
        "prefix": key.prefix,
        "client": key.client.name,
        "state": key_state(key),
        "expires_at": key.expires_at,
        "last_used_at": key.last_used_at,
        "grants": written_grants(grants_of(key)),
        "quotas": asdict(effective_quotas(key.quotas)),
        "own_quotas": {name: key.quotas[name] for name in QUOTA_NAMES if name in key.quotas},
        "addresses": key.addresses,
    }


class KeysApi(ApiView):
    @extend_schema(parameters=[Paging], responses=page_of(KeySerializer), operation_id="list_keys")
    def get(self, request: Request) -> Response:
        """Keys, without their secrets. For operators."""
        require_operator(request)
        return Response(page_of_rows(keys_with_grants(), ("id",), self.asked(Paging), shown=shown_key))


class KeyApi(ApiView):
    staff_needs = {"PATCH": (May.CHANGE_KEYS,)}

    @extend_schema(responses=KeySerializer, operation_id="get_key")
    def get(self, request: Request, number: int) -> Response:
        """One key. For operators."""
        require_operator(request)
        return Response(shown_key(_key(number)))

    @extend_schema(request=KeyChangeSerializer, responses=KeySerializer, operation_id="change_key")
    def patch(self, request: Request, number: int) -> Response:
        """Set the quotas, which holds for open connections, too, or the addresses. For operators."""
        require_operator(request)
        sent, key = self.sent(KeyChangeSerializer), _key(number)
        if "quotas" in sent:
            key_set_quotas(key=key, quotas=sent["quotas"], by=operator_of(request))
        if "addresses" in sent:
            key_set_addresses(key=key, addresses=sent["addresses"], by=operator_of(request))
        return Response(shown_key(_key(number)))


def _key(number: int) -> Key:
    return found(
        keys_with_grants().filter(pk=number).first(), str(number), f"There is no key with the number {number}."
    )
