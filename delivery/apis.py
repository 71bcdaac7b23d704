"""HTTP for clients and scripts: what they ask about queues."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from clients.models import Permission
from clients.rest import KeyAuthentication, MayComeIn, principal_of
from delivery.protocol.errors import Code
from delivery.status import status_of

HTTP_STATUS = {Code.NO_OBJECT: 404, Code.PERMISSION_DENIED: 403}


def refusal(code: Code, key: str, message: str) -> Response:
    """An error of the protocol, in the shape that it has on sockets."""
    body = {"type": "error", "label": None, "code": code.value, "key": key, "message": message}
    return Response(body, status=HTTP_STATUS[code])


class QueueStatusApi(APIView):
    authentication_classes = [KeyAuthentication]
    permission_classes = [MayComeIn]

    def get(self, request: Request, queue_name: str) -> Response:
        principal = principal_of(request)
        if not any(principal.may(permission, queue_name) for permission in Permission.values):
            return refusal(Code.PERMISSION_DENIED, queue_name, f"Your key grants nothing on {queue_name}.")
        status: dict[str, Any] | None = status_of(queue_name)
        if status is None:
            return refusal(Code.NO_OBJECT, queue_name, f"There is no queue {queue_name}.")
        return Response(status)
