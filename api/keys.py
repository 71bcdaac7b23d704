"""/api/keys: the keys that clients connect with. For operators."""

from datetime import timedelta
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import operator_of, require_operator
from api.fields import Name, Paging, Seconds, Strict, page_of
from api.pages import page_of_rows
from api.views import ApiView, found
from clients.grants import EXAMPLE, check_grants, read_grants, written_grants
from clients.models import Key
from clients.selectors import grants_of, key_state, keys_with_grants
from delivery.operating.clients import NewKey, key_create, key_expire, key_revoke, key_rotate
from delivery.operating.permissions import May

MOST_GRANTS = 100
LONGEST_GRACE = 30 * 86_400.0  # seconds


class KeySerializer(serializers.Serializer):
    number = serializers.IntegerField()
    prefix = serializers.CharField(help_text="Its first characters.")
    client = serializers.CharField()
    state = serializers.CharField(help_text="`valid`, `expired` or `revoked`.")
    grants = serializers.ListField(child=serializers.CharField(), help_text=f"Such as {EXAMPLE}.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class NewKeySerializer(KeySerializer):
    secret = serializers.CharField(help_text="The key itself. It is shown only this once.")


class KeyArguments(Paging):
    client = Name(required=False, help_text="Only the keys of this client.")


class GrantField(serializers.CharField):
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


class RotateSerializer(Strict):
    grace = Seconds(default=0.0, max_value=LONGEST_GRACE, help_text="Seconds for which the old key stays valid.")
    expires_at = serializers.DateTimeField(required=False, allow_null=True, help_text="When the new key expires.")


class ExpireSerializer(Strict):
    expires_at = serializers.DateTimeField(allow_null=True, help_text="null: never.")


def shown_key(key: Key) -> dict[str, Any]:
    names = ("prefix", "created_at", "expires_at", "last_used_at")
    return {
        "number": key.pk,
        "client": key.client.name,
        "state": key_state(key),
        "grants": written_grants(grants_of(key)),
        **{name: getattr(key, name) for name in names},
    }


def shown_new(new: NewKey) -> dict[str, Any]:
    return {**shown_key(_key(new.record.pk)), "secret": new.secret}


def _key(number: int) -> Key:
    key = keys_with_grants().filter(pk=number).first()
    return found(key, str(number), f"There is no key with the number {number}.")


class KeysApi(ApiView):
    staff_needs = {"POST": (May.MAKE_KEYS,)}

    @extend_schema(parameters=[KeyArguments], responses=page_of(KeySerializer), operation_id="list_keys")
    def get(self, request: Request) -> Response:
        """Keys, the newest first, without their secrets."""
        require_operator(request)
        asked = self.asked(KeyArguments)
        keys = keys_with_grants()
        if "client" in asked:
            keys = keys.filter(client__name=asked["client"])
        return Response(page_of_rows(keys, ("-id",), asked, shown=shown_key))

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
            by=operator_of(request),
        )
        return Response(shown_new(new), status=201)


class KeyApi(ApiView):
    staff_needs = {"PATCH": (May.CHANGE_KEYS,), "DELETE": (May.CHANGE_KEYS,)}

    @extend_schema(responses=KeySerializer, operation_id="show_key")
    def get(self, request: Request, number: int) -> Response:
        """One key, without its secret."""
        require_operator(request)
        return Response(shown_key(_key(number)))

    @extend_schema(request=ExpireSerializer, responses=KeySerializer, operation_id="expire_key")
    def patch(self, request: Request, number: int) -> Response:
        """Set when a key expires."""
        require_operator(request)
        sent = self.sent(ExpireSerializer)
        key_expire(key=_key(number), at=sent["expires_at"], by=operator_of(request))
        return Response(shown_key(_key(number)))

    @extend_schema(responses={200: KeySerializer}, operation_id="revoke_key")
    def delete(self, request: Request, number: int) -> Response:
        """End a key now, and close its connections."""
        require_operator(request)
        key_revoke(key=_key(number), by=operator_of(request))
        return Response(shown_key(_key(number)))


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
