"""Refusals under /api/ are problem details (RFC 9457), with the protocol's code and the field that was wrong."""

from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import exception_handler

from api.http_errors import CODES, NOT_LET_IN, STATUS
from delivery.protocol.errors import Code, WillowError
from delivery.storage.connection import unavailable

MEDIA_TYPE = "application/problem+json"


class ProblemRenderer(JSONRenderer):
    """JSON, with the media type of problems."""

    media_type = MEDIA_TYPE


class Conflict(exceptions.APIException):
    """The request conflicts with the present state."""

    status_code = 409
    default_code = "conflict"


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """The exception handler of API views. None: an unexpected error, which Django reports."""
    if isinstance(error, OperationalError):
        error = unavailable()
    if isinstance(error, ValidationError):
        error = exceptions.ValidationError(_of_django(error))
    if isinstance(error, WillowError):
        response = Response(problem_of(error), status=STATUS[error.code])
    else:
        framework_response = exception_handler(error, context)
        if framework_response is None:
            return None
        response = framework_response
        response.data = _of_framework(error, response.status_code)
    _render_as_problem(response, context)
    return response


def problem_of(error: WillowError) -> dict[str, Any]:
    return _problem(STATUS[error.code], error.code, error.key, error.message)


def _render_as_problem(response: Response, context: dict[str, Any]) -> None:
    """Also when authentication failed before the accepted formats were known. Browsers get their page."""
    request = context.get("request")
    renderer = getattr(request, "accepted_renderer", None)
    if request is not None and (renderer is None or renderer.format == "json" or renderer.format == "ndjson"):
        request.accepted_renderer = ProblemRenderer()
        request.accepted_media_type = MEDIA_TYPE


def _of_django(error: ValidationError) -> Any:
    return error.message_dict if hasattr(error, "error_dict") else error.messages


def _of_framework(error: Exception, status: int) -> dict[str, Any]:
    code = CODES.get(status, Code.BAD_REQUEST)
    if isinstance(error, exceptions.ValidationError):
        errors = _flat("", error.detail)
        first = errors[0]
        detail = f"{first['field']}: {first['message']}" if first["field"] else first["message"]
        return _problem(status, code, first["field"] or "request", detail) | {"errors": errors}
    if isinstance(error, Http404):
        return _problem(status, code, "address", "There is nothing at this address.")
    if isinstance(error, PermissionDenied):
        return _problem(status, code, "request", "You may not do this.")
    detail = str(error.detail) if isinstance(error, exceptions.APIException) else str(error)
    return _problem(status, code, "token" if status == NOT_LET_IN else "request", detail)


def _flat(field: str, detail: Any) -> list[dict[str, str]]:
    """Every refusal with the path of its field, such as `filter.index_from`."""
    if isinstance(detail, dict):
        found = []
        for name, inner in detail.items():
            whole = name == "non_field_errors"
            path = field if whole else f"{field}.{name}" if field else str(name)
            found += _flat(path, inner)
        return found
    if isinstance(detail, list):
        return [one for inner in detail for one in _flat(field, inner)]
    return [{"field": field, "message": str(detail)}]


def _problem(status: int, code: Code, key: str, detail: str) -> dict[str, Any]:
    return {
        "type": f"urn:willow:problem:{code.value}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code.value,
        "key": key,
    }
