"""Reading JSON that may be hostile."""

import json
from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

SURROGATE = b"\\ud"  # how the escape of half a surrogate pair begins


class SoundJsonParser(JSONParser):
    """Refuses JSON that is too deep for Python's reader, and texts that it accepts but that cannot be stored."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        raw = stream.read()
        try:
            data = super().parse(BytesIO(raw), media_type, parser_context)
            if SURROGATE in raw.lower():
                json.dumps(data, ensure_ascii=False).encode()
        except RecursionError:
            raise ParseError("JSON parse error - it is nested too deeply.") from None
        except UnicodeEncodeError:
            raise ParseError("JSON parse error - it holds half a surrogate pair, which is not a character.") from None
        return data
