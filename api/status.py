"""HTTP for clients and scripts: what they ask about queues and clients."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from clients.models import Client, Permission
from clients.principal import Principal
from clients.rest import principal_of
from delivery.figures.clients import client_record
from delivery.figures.status import status_of
from delivery.protocol.errors import Code, WillowError
from queues.definitions import is_name


class QueueStatusApi(APIView):
    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="queue_status")
    def get(self, request: Request, queue_name: str) -> Response:
        """All queues of a name with their counts and settings, and the totals. For callers with a grant on the name."""
        principal = principal_of(request)
        if not any(principal.may(permission, queue_name) for permission in Permission.values):
            raise WillowError(Code.PERMISSION_DENIED, queue_name, f"Your key grants nothing on {queue_name}.")
        status = status_of(queue_name) if is_name(queue_name) else None
        if status is None:
            raise WillowError(Code.NO_OBJECT, queue_name, f"There is no queue {queue_name}.")
        return Response(status)


class ClientRecordApi(APIView):
    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="client_record")
    def get(self, request: Request, client_name: str) -> Response:
        """The record of a client, as `registered` gives it, and where it is connected."""
        # Before anything else, so that callers cannot find out which names exist.
        if not _may_read(principal_of(request), client_name):
            raise WillowError(
                Code.PERMISSION_DENIED, client_name, f"Your key does not belong to the client {client_name}."
            )
        client = Client.objects.filter(name=client_name).first() if is_name(client_name) else None
        if client is None:
            raise WillowError(Code.NO_OBJECT, client_name, f"There is no client {client_name}.")
        return Response(client_record(client))


def _may_read(principal: Principal, client_name: str) -> bool:
    """A key may read the record of its own client. Operators, and callers who need no key, may read all."""
    return principal.key_id is None or principal.is_operator or principal.client_name == client_name
