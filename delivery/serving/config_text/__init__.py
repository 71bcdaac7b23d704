"""A configuration as text: JSON, XML or ZFL, all written from the same value, and read back to exactly that value.

docs/services.md describes the formats for those who write workers.
"""

import json
from collections.abc import Callable
from typing import Any

from delivery.protocol.fields import ConfigType
from delivery.serving.config_text.xml_form import read_xml, write_xml
from delivery.serving.config_text.zpl_form import read_zpl, write_zpl


def write_json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


WRITERS: dict[ConfigType, Callable[[dict[str, Any]], str]] = {"JSON": write_json, "XML": write_xml, "ZFL": write_zpl}
READERS: dict[ConfigType, Callable[[str], Any]] = {"JSON": json.loads, "XML": read_xml, "ZFL": read_zpl}


def write_config(config_type: ConfigType, value: dict[str, Any]) -> str:
    return WRITERS[config_type](value)


def read_config(config_type: ConfigType, text: str) -> Any:
    return READERS[config_type](text)
