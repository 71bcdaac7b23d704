"""Fields that several resources have, and serializers that refuse unknown fields."""

import math
from contextlib import suppress
from typing import Any

import msgspec
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from delivery.moves.message_id import MOST_IDS, MessageId
from delivery.protocol.fields import BODY_RULE, TEN_YEARS_SECONDS, U32_MAX, Base64Body
from queues.definitions import MOST_TAGS, NAME_LENGTH, NAME_RULE, TAG_LENGTH, is_name
from queues.integer_ranges import BIGINT_MAX

MOST_ROWS = 1000  # on one page
USUAL_ROWS = 100

BODY = {
    "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}}],
    "description": "A text, or a list of byte values if the body is not UTF-8. Requests may also have "
    '`{"base64": "…"}`, in the standard alphabet with padding.',
}
MESSAGE_ID_PATTERN = r"^[0-9]{1,18}/[0-9]{1,18}(/[0-9]{1,18})?$"


class Strict(serializers.Serializer):
    """Refuses unknown fields: a mistyped filter would otherwise choose everything."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = [name for name in data if name not in self.fields]
            if unknown:
                known = ", ".join(self.fields)
                raise serializers.ValidationError(
                    {name: [f"Unknown field. Known fields are {known}."] for name in unknown}
                )
        return super().to_internal_value(data)


class BigInteger(serializers.IntegerField):
    """A whole number that PostgreSQL's bigint holds."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("min_value", 0)
        kwargs.setdefault("max_value", BIGINT_MAX)
        super().__init__(**kwargs)


class Priority(serializers.IntegerField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_value=U32_MAX, **kwargs)


class Seconds(serializers.FloatField):
    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("min_value", 0)
        kwargs.setdefault("max_value", TEN_YEARS_SECONDS)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool):  # a number to Python, and to nobody else
            self.fail("invalid")
        value = super().to_internal_value(data)
        if not math.isfinite(value):
            raise serializers.ValidationError("This must be a finite number.")
        return value


class Name(serializers.CharField):
    """The name of a queue, a client or a service."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_length=1, max_length=NAME_LENGTH, trim_whitespace=False, **kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        value = super().run_validation(data)
        if value is not None and isinstance(value, str) and not is_name(value):
            raise serializers.ValidationError(f"This must be {NAME_RULE}.")
        return value


class HeaderText(serializers.CharField):
    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("This must be a text.")
        return super().to_internal_value(data)


class Headers(serializers.DictField):
    """Texts by name; the rest of the rule is checked where commands are."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=HeaderText(allow_blank=True, trim_whitespace=False), **kwargs)


class Tags(serializers.ListField):
    def __init__(self, **kwargs: Any) -> None:
        child = serializers.CharField(min_length=1, max_length=TAG_LENGTH, trim_whitespace=False)
        super().__init__(child=child, max_length=MOST_TAGS, **kwargs)


@extend_schema_field({"type": "string", "pattern": MESSAGE_ID_PATTERN, "description": "shard/sequence/index"})
class MessageIdField(serializers.RegexField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(MESSAGE_ID_PATTERN, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        return str(super().to_internal_value(data))


class MessageIds(serializers.ListField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=MessageIdField(), min_length=1, max_length=MOST_IDS, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        return [MessageId.read(text) for text in super().to_internal_value(data)]


@extend_schema_field(BODY)
class BodyField(serializers.Field):
    """As in the protocol's JSON frames. Its size is checked where frames are checked."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, str):
            return data
        if isinstance(data, list) and all(type(value) is int and 0 <= value <= 255 for value in data):
            return bytes(data)
        if isinstance(data, dict):
            with suppress(msgspec.ValidationError):
                return msgspec.convert(data, Base64Body).base64
        raise serializers.ValidationError(f"This must be {BODY_RULE}.")

    def to_representation(self, value: Any) -> Any:
        return shown_body(value)


class Paging(Strict):
    limit = serializers.IntegerField(min_value=1, max_value=MOST_ROWS, default=USUAL_ROWS, help_text="Rows on a page.")
    cursor = serializers.CharField(
        required=False, max_length=2000, help_text="`next` of the page before; without it, the first page."
    )


def shown_body(body: bytes | None) -> str | list[int] | None:
    """As JSON frames of the protocol show it."""
    if body is None:
        return None
    try:
        return bytes(body).decode()
    except UnicodeDecodeError:
        return list(bytes(body))


def page_of(item: type[serializers.Serializer]) -> type[serializers.Serializer]:
    """The shape of a page, for the schema."""
    fields = {
        "results": item(many=True),
        "next": serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last page."),
    }
    return type(f"{item.__name__}Page", (serializers.Serializer,), fields)
