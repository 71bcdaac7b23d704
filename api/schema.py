"""The OpenAPI document: what drf-spectacular finds, and what holds for every address."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from api.examples import ARGUMENTS, BODIES
from api.views import NUMBERS_IN_ADDRESSES

PROBLEM = {
    "type": "object",
    "description": "Problem details (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "One sentence for a person."},
        "code": {"type": "string", "description": "The protocol's code, for a program."},
        "key": {"type": "string", "description": "What it is about: a field, a queue, a message."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
                "required": ["field", "message"],
            },
        },
    },
    "required": ["type", "title", "status", "detail", "code", "key"],
}
PROTOCOL_ERROR = {
    "type": "object",
    "description": "An error as it is on sockets.",
    "properties": {
        "type": {"type": "string", "enum": ["error"]},
        "label": {"type": "integer", "nullable": True},
        "code": {"type": "string"},
        "key": {"type": "string"},
        "message": {"type": "string"},
    },
    "required": ["type", "label", "code", "key", "message"],
}
OF_THE_PROTOCOL = ("/status/{queue_name}", "/api/clients/{client_name}")  # they refuse as sockets do
TAG_OF = {"queue": "queues"}  # by the first part of the address, where it is not the tag itself
LARGEST_IN_ADDRESS = 10**18 - 1


class KeyScheme(OpenApiAuthenticationExtension):
    target_class = "clients.rest.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token <key>`. Callers on this machine need none for what clients do.",
        }


def complete(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """SPECTACULAR_SETTINGS' postprocessing hook."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = PROBLEM
    schemas["ProtocolError"] = PROTOCOL_ERROR
    for name, schema in schemas.items():
        if name.endswith("Request"):
            schema["additionalProperties"] = False
    for path, operations in result["paths"].items():
        for operation in operations.values():
            _name_refusals(path, operation)
            _describe(path, operation)
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in ARGUMENTS and _fits(parameter["schema"], ARGUMENTS[parameter["name"]]):
                    parameter["example"] = ARGUMENTS[parameter["name"]]
                if parameter["in"] == "path" and parameter["name"] in NUMBERS_IN_ADDRESSES:
                    parameter["schema"] = {"type": "integer", "minimum": 0, "maximum": LARGEST_IN_ADDRESS}
    return result


def _describe(path: str, operation: dict[str, Any]) -> None:
    """A summary from the first sentence of its docstring, a tag from its address, and an example of what is sent."""
    about = " ".join(str(operation.get("description", "")).partition("\n\n")[0].split())
    operation["summary"] = about.partition(". ")[0].rstrip(".")
    place = path.strip("/").split("/")
    operation["tags"] = [TAG_OF.get(place[1], place[1]) if place[0] == "api" else place[0]]
    example = BODIES.get(operation["operationId"])
    for content in operation.get("requestBody", {}).get("content", {}).values():
        if example is not None:
            content["examples"] = {"example": {"value": example}}


def _fits(schema: dict[str, Any], example: Any) -> bool:
    return (schema.get("type") == "array") == isinstance(example, list)


def _name_refusals(path: str, operation: dict[str, Any]) -> None:
    if path.rstrip("/") in OF_THE_PROTOCOL:
        media, name = "application/json", "ProtocolError"
    else:
        media, name = "application/problem+json", "Problem"
    content = {media: {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    operation["responses"]["default"] = {"description": "Refused.", "content": content}
