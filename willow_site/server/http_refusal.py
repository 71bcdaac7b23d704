"""Answers of the server itself, before there is an application: problem details, as under /api/."""

import json
from http import HTTPStatus

from delivery.protocol.errors import Code


class Refusal:
    def __init__(self, status: HTTPStatus, code: Code, key: str, detail: str, *headers: str) -> None:
        problem = {
            "type": f"urn:willow:problem:{code.value}",
            "title": status.phrase,
            "status": status.value,
            "detail": detail,
            "code": code.value,
            "key": key,
        }
        body = json.dumps(problem).encode()
        lines = [
            f"HTTP/1.1 {status.value} {status.phrase}",
            "Content-Type: application/problem+json",
            f"Content-Length: {len(body)}",
            "Connection: close",
            *headers,
            "",
            "",
        ]
        self.answer = "\r\n".join(lines).encode() + body


RETRY = "Retry-After: 1"


def body_too_large(limit: int) -> Refusal:
    detail = f"The body of this request may have at most {limit} bytes."
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, Code.TOO_LARGE, str(limit), detail)


def too_many_bodies(limit: int) -> Refusal:
    detail = f"This node takes at most {limit} bytes of large requests at once. Please try again."
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, Code.OVERLOADED, str(limit), detail, RETRY)


def too_many_connections(limit: int) -> Refusal:
    detail = f"Your address may have at most {limit} connections."
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, Code.OVERLOADED, str(limit), detail, RETRY)


def node_is_full(limit: int) -> Refusal:
    detail = f"This node may have at most {limit} connections, the number of files that it may open."
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, Code.OVERLOADED, str(limit), detail, RETRY)


def too_slow(seconds: float) -> Refusal:
    detail = f"The request was not complete after {seconds:g} seconds."
    return Refusal(HTTPStatus.REQUEST_TIMEOUT, Code.BAD_REQUEST, "request", detail)
