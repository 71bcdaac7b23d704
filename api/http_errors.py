"""Errors over HTTP have the same shape as on sockets."""

from typing import Any

from django.db import OperationalError
from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.views import exception_handler

from delivery.protocol.errors import Code, WillowError
from delivery.storage.connection import unavailable

STATUS = {
    Code.NO_OBJECT: 404,
    Code.OBJECT_ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.BAD_REQUEST: 400,
    Code.TOO_LARGE: 413,
    Code.OVERLOADED: 429,
    Code.UNAVAILABLE: 503,
}
NOT_LET_IN = 401
CODES = {status: code for code, status in STATUS.items()} | {NOT_LET_IN: Code.PERMISSION_DENIED}


def error_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """REST_FRAMEWORK's EXCEPTION_HANDLER. None: an unexpected error, which Django reports."""
    if isinstance(error, OperationalError):
        error = unavailable()
    if isinstance(error, WillowError):
        return Response(_body(error), status=STATUS[error.code])
    response = exception_handler(error, context)
    if response is not None:
        response.data = _body(_of_framework(error, response.status_code))
    return response


def _of_framework(error: Exception, status: int) -> WillowError:
    """What Django REST framework itself refused: mostly failed authentication and bad requests."""
    code = CODES.get(status, Code.BAD_REQUEST)
    message = error.detail if isinstance(error, APIException) else "There is nothing at this address."
    return WillowError(code, "token" if status == NOT_LET_IN else "request", str(message))


def _body(error: WillowError) -> dict[str, Any]:
    return {
        "type": "error",
        "label": None,
        "code": error.code.value,
        "key": error.key,
        "message": error.message,
    }
