"""A configuration reads back to itself from each format, whatever an operator put into it."""

import json
from typing import Any

import pytest
from defusedxml.common import DefusedXmlException
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from delivery.serving.changes import MOST_BYTES, MOST_LEVELS, check_config
from delivery.serving.config_text import READERS, read_config, write_config

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]) | st.sampled_from("\t\n\r\"'\\$#=<>&")
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5), max_leaves=20
)
CONFIGS = st.dictionaries(TEXTS, VALUES, max_size=5)
CONFIG_TYPES = sorted(READERS)

ODD: dict[str, Any] = {
    "": "the empty name",
    "two words": {"": {}},
    "$": "$24",
    "list": ["list", "item", [], {}, [[]], None],
    "map": {},
    "true": "true",
    "1": "1",
    "number": [1, 1.0, -0.0, 1e300, 10**40, True],
    "quotes": '"\'\\"',
    "lines": "a\r\nb\tc\n",
    "  spaces  ": "  kept  ",
    "markup": "<!-- ]]> & &amp;",
    "ümläut": "日本 🌲",
}


def assert_same(found: Any, expected: Any) -> None:
    """As JSON tells values apart: in Python 1, 1.0 and True are equal."""
    assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


@pytest.mark.parametrize("config_type", CONFIG_TYPES)
@given(config=CONFIGS)
def test_any_configuration_reads_back(config_type: Any, config: dict[str, Any]) -> None:
    assert_same(read_config(config_type, write_config(config_type, config)), config)


@pytest.mark.parametrize("config_type", CONFIG_TYPES)
def test_odd_values_read_back(config_type: Any) -> None:
    check_config(ODD)
    assert_same(read_config(config_type, write_config(config_type, ODD)), ODD)


def test_zpl_is_what_the_documentation_shows() -> None:
    value = {"port": 8080, "limits": {"sizes": [10, {"max": None}]}, "name": 'say "hi"', "odd name": True}
    assert write_config("ZFL", value) == (
        "port = 8080\n"
        "limits\n"
        "    sizes = list\n"
        "        item = 10\n"
        "        item\n"
        "            max = null\n"
        'name = "say \\u0022hi\\u0022"\n'
        "odd$20name = true\n"
    )


@given(config=CONFIGS)
def test_zpl_has_only_lines_of_the_language(config: dict[str, Any]) -> None:
    """Names of RFC 4's letters, indents of four, and values without an inner quote."""
    text = write_config("ZFL", config)
    assert text.isascii()
    for line in text.splitlines():
        name, _, value = line.lstrip(" ").partition(" = ")
        assert (len(line) - len(line.lstrip(" "))) % 4 == 0
        assert name and all(letter.isalnum() or letter in "$-_@.&+/" for letter in name)
        assert value.count('"') in (0, 2)


def test_xml_is_what_the_documentation_shows() -> None:
    assert write_config("XML", {"port": 8080, "hosts": ["a"]}) == (
        '<config><entry name="port" type="number">8080</entry>'
        '<entry name="hosts" type="list"><item type="text">a</item></entry></config>'
    )


@pytest.mark.parametrize(
    "prologue",
    [
        '<!DOCTYPE config [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>',
        '<!DOCTYPE config [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE config SYSTEM "http://127.0.0.1/config.dtd">',
    ],
)
def test_xml_with_entity_tricks_is_refused(prologue: str) -> None:
    with pytest.raises(DefusedXmlException):
        read_config("XML", prologue + "<config/>")


@pytest.mark.parametrize("text", ["a == b", "a =", "  a = 1", "a b = 1", "\ta = 1"])
def test_zpl_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_config("ZFL", text)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"in": value}
    return value


@pytest.mark.parametrize(
    "config",
    [
        [],
        "text",
        None,
        {"bell": "\a"},
        {"\0": 1},
        {"half": "\ud800"},
        {"not a character": "\uffff"},
        {"far": float("inf")},
        {"none": float("nan")},
        nested(MOST_LEVELS),
        nested(500),
        {"much": "x" * MOST_BYTES},
    ],
)
def test_what_no_format_could_tell_is_refused(config: Any) -> None:
    with pytest.raises(ValidationError):
        check_config(config)
