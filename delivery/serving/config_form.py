"""The field of the admin's form in which operators write a configuration."""

import json
from typing import Any

from django import forms


class StrictDecoder(json.JSONDecoder):
    """Refuses as bad JSON what Python's own decoder lets pass, or trips over."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "object_pairs_hook": _each_name_once})

    def decode(self, s: str, *where: Any) -> Any:
        try:
            return super().decode(s, *where)
        except json.JSONDecodeError:
            raise
        except (ValueError, RecursionError) as error:  # a name twice, a number with too many digits; too deep
            raise json.JSONDecodeError(str(error), s[:100], 0) from error


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("A name is given twice.")
    return named


class ConfigField(forms.JSONField):
    """Any JSON. Django takes an empty object for nothing at all; here it is a configuration like others."""

    default_error_messages = {
        "invalid": "Enter a JSON object: no name twice, no number of thousands of digits, not nested too deep."
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "decoder": StrictDecoder, "required": False})
