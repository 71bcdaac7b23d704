"""Configurations in XML: every value says its type, so that nothing has to be guessed.

<config><entry name="port" type="number">8080</entry><entry name="hosts" type="list"><item type="text">a</item></entry>
</config>
"""

import json
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from defusedxml.ElementTree import fromstring

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# A parser turns a bare carriage return into a line feed.
CARRIAGE_RETURN = {"\r": "&#13;"}


def write_xml(value: dict[str, Any]) -> str:
    return f"<config>{_entries(value)}</config>"


def _entries(value: dict[str, Any]) -> str:
    return "".join(_element("entry", f" name={quoteattr(name, CARRIAGE_RETURN)}", held) for name, held in value.items())


def _element(tag: str, name: str, value: Any) -> str:
    kind, content = _typed(value)
    return f'<{tag}{name} type="{kind}">{content}</{tag}>'


def _typed(value: Any) -> tuple[str, str]:
    if isinstance(value, dict):
        return "map", _entries(value)
    if isinstance(value, list):
        return "list", "".join(_element("item", "", item) for item in value)
    if isinstance(value, str):
        return "text", escape(value, CARRIAGE_RETURN)
    return ("number" if type(value) in (int, float) else "literal"), json.dumps(value, allow_nan=False)


def read_xml(text: str) -> Any:
    """Entities, document types and references to the outside are refused, not followed."""
    root = fromstring(text, forbid_dtd=True, forbid_entities=True, forbid_external=True)
    return {entry.get("name"): _value(entry) for entry in root}


def _value(element: "Element") -> Any:
    kind, text = element.get("type"), element.text or ""
    if kind == "map":
        return {entry.get("name"): _value(entry) for entry in element}
    if kind == "list":
        return [_value(item) for item in element]
    return text if kind == "text" else json.loads(text)
