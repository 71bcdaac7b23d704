"""Making and ending keys over REST. For operators; a secret is in the answer that makes it, and nowhere else."""

from datetime import timedelta
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api import keys
from api.access import operator_of, require_operator
from api.fields import Name, Seconds, Strict
from api.keys import AddressesField, KeySerializer, QuotasSerializer, shown_key
from api.views import ApiView, found
from clients.grants import EXAMPLE, check_grants, read_grants
from clients.models import Key
from clients.selectors import keys_with_grants
from delivery.operating.clients import NewKey, key_create, key_expire, key_revoke, key_rotate
from delivery.operating.permissions import May

MOST_GRANTS = 100
LONGEST_GRACE = 30 * 86_400.0  # seconds


class NewKeySerializer(KeySerializer):
    secret = serializers.CharField(help_text="The key itself. It is shown only this once.")


class GrantField(serializers.CharField):
    default_error_messages = {"invalid": f"This must be a text such as {EXAMPLE}."}

    def to_internal_value(self, data: Any) -> str:
        text = str(super().to_internal_value(data))
        check_grants(read_grants([text]))
        return text


class CreateKeySerializer(Strict):
    client = Name(help_text="Whose key it is; made if there is no such client.")
    persistent = serializers.BooleanField(default=False, help_text="A new client is kept for ever.")
    grants = serializers.ListField(
        child=GrantField(max_length=300), max_length=MOST_GRANTS, default=list, help_text=f"Such as {EXAMPLE}."
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True)
    quotas = QuotasSerializer(default=dict)
    addresses = AddressesField(default=list)


class RotateSerializer(Strict):
    grace = Seconds(default=0.0, max_value=LONGEST_GRACE, help_text="Seconds for which the old key stays valid.")
    expires_at = serializers.DateTimeField(required=False, allow_null=True, help_text="When the new key expires.")


class ExpireSerializer(Strict):
    expires_at = serializers.DateTimeField(allow_null=True, help_text="null: never.")


def shown_new(new: NewKey) -> dict[str, Any]:
    return {**shown_key(_key(new.record.pk)), "secret": new.secret}


def _key(number: int) -> Key:
    key = keys_with_grants().filter(pk=number).first()
    return found(key, str(number), f"There is no key with the number {number}.")


class KeysApi(keys.KeysApi):
    staff_needs = {"POST": (May.MAKE_KEYS,)}

    @extend_schema(request=CreateKeySerializer, responses={201: NewKeySerializer}, operation_id="create_key")
    def post(self, request: Request) -> Response:
        """A new key. Its secret is in the answer, and nowhere else."""
        require_operator(request)
        sent = self.sent(CreateKeySerializer)
        new = key_create(
            client_name=sent["client"],
            persistent=sent["persistent"],
            grants=read_grants(sent["grants"]),
            expires_at=sent.get("expires_at"),
            quotas=sent["quotas"],
            addresses=sent["addresses"],
            by=operator_of(request),
        )
        return Response(shown_new(new), status=201)


class RotateKeyApi(ApiView):
    staff_needs = {"POST": (May.MAKE_KEYS, May.CHANGE_KEYS)}

    @extend_schema(request=RotateSerializer, responses={201: NewKeySerializer}, operation_id="rotate_key")
    def post(self, request: Request, number: int) -> Response:
        """A new key with the same grants, in place of this one."""
        require_operator(request)
        sent = self.sent(RotateSerializer)
        new = key_rotate(
            key=_key(number),
            grace=timedelta(seconds=sent["grace"]),
            expires_at=sent.get("expires_at"),
            by=operator_of(request),
        )
        return Response(shown_new(new), status=201)


class ExpireKeyApi(ApiView):
    staff_needs = {"POST": (May.CHANGE_KEYS,)}

    @extend_schema(request=ExpireSerializer, responses=KeySerializer, operation_id="expire_key")
    def post(self, request: Request, number: int) -> Response:
        """Set when a key expires."""
        require_operator(request)
        sent = self.sent(ExpireSerializer)
        key_expire(key=_key(number), at=sent["expires_at"], by=operator_of(request))
        return Response(shown_key(_key(number)))


class RevokeKeyApi(ApiView):
    staff_needs = {"POST": (May.CHANGE_KEYS,)}

    @extend_schema(request=None, responses=KeySerializer, operation_id="revoke_key")
    def post(self, request: Request, number: int) -> Response:
        """End a key now, and close its connections."""
        require_operator(request)
        key_revoke(key=_key(number), by=operator_of(request))
        return Response(shown_key(_key(number)))
