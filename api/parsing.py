"""Reading JSON that may be hostile."""

import json
import math
import re
from collections.abc import Mapping
from io import BytesIO
from itertools import islice
from typing import IO, Any

from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser

SURROGATE = b"\\ud"  # how the escape of half a surrogate pair begins
MOST_VALUES = 200_000  # each becomes an object of many times its size
_TEXT_OR_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,\[{]', re.DOTALL)


class SoundJsonParser(JSONParser):
    """Refuses JSON that is too deep for Python's reader, and texts that it accepts but that cannot be stored."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        raw = stream.read()
        if not _has_few_values(raw):
            raise ParseError(
                f"JSON parse error - it holds more than {MOST_VALUES} values. Send bodies as text or base64."
            )
        try:
            data = self._read(raw, media_type, parser_context)
            if SURROGATE in raw.lower():
                json.dumps(data, ensure_ascii=False).encode()
        except RecursionError:
            raise ParseError("JSON parse error - it is nested too deeply.") from None
        except UnicodeEncodeError:
            raise ParseError("JSON parse error - it holds half a surrogate pair, which is not a character.") from None
        return data

    def _read(self, raw: bytes, media_type: str | None, parser_context: Mapping[str, Any] | None) -> Any:
        try:
            return super().parse(BytesIO(raw), media_type, parser_context)
        except ParseError:
            _refuse_numbers_that_are_none(raw)
            raise


def _refuse_numbers_that_are_none(raw: bytes) -> None:
    """NaN and Infinity are not JSON, though many libraries write them: say in which field."""
    try:
        data = json.loads(raw)  # unlike the strict reader, this one takes them
    except ValueError:
        return
    fields = data.items() if isinstance(data, dict) else ()
    wrong = [name for name, value in fields if isinstance(value, float) and not math.isfinite(value)]
    if wrong:
        raise ValidationError({name: ["This must be a finite number."] for name in wrong})


def _has_few_values(raw: bytes) -> bool:
    """Nearly always seen from the bytes alone. Only then are the texts told from what is around them."""
    if sum(map(raw.count, (b",", b"[", b"{"))) <= MOST_VALUES:
        return True
    marks = (found for found in _TEXT_OR_MARK.finditer(raw) if raw[found.start()] not in b'"')
    return next(islice(marks, MOST_VALUES, None), None) is None
