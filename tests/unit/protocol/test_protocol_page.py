"""docs/protocol.md and docs/bincode.md are what authors of clients read: what they show must be true."""

import json
import re
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import fields

from delivery.protocol import close_codes
from delivery.protocol import json as json_codec
from delivery.protocol.bincode.extras import EXTRAS, QUEUE_EXTRAS
from delivery.protocol.bincode.types import layout
from delivery.protocol.commands import Command
from delivery.protocol.variants import COMMAND_VARIANTS, COMMANDS, FRAME_VARIANTS, FRAMES, WithExtras
from tests.unit.protocol.documented_layouts import LAYOUTS
from tests.unit.protocol.samples import LIMITS

PAGE = Path(__file__).parents[3] / "docs" / "protocol.md"
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
COMMAND_NAMES = {command.__struct_config__.tag for command in COMMANDS}
FRAME_FIELDS = {
    frame.__struct_config__.tag: {field.encode_name: field.required for field in fields(frame)} for frame in FRAMES
}


def is_frame(example: dict) -> bool:
    """Some names belong to a command and to a frame, which have other fields."""
    known = FRAME_FIELDS.get(example["type"], {})
    return (
        set(example) - {"type"} <= set(known)
        and all(key in example for key, required in known.items() if required)
        and example["type"] in FRAME_FIELDS
    )


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_a_valid_command_or_frame(text):
    example = json.loads(text)
    if example["type"] in COMMAND_NAMES and not is_frame(example):
        [command] = json_codec.decode(text, LIMITS)
        assert isinstance(command, Command)
        assert set(example) - {"type"} <= {field.encode_name for field in fields(type(command))}
    else:
        assert is_frame(example)


def test_every_command_and_frame_has_an_example():
    shown = {json.loads(text)["type"] for text in EXAMPLES}
    paired = {"readyok", "pong"}  # shown by `ping`, which has the same fields
    assert shown | paired == COMMAND_NAMES | set(FRAME_FIELDS)


def variant_layout(variant: type[Struct] | WithExtras) -> tuple[str, list[str]]:
    if isinstance(variant, WithExtras):
        name = variant.struct.__struct_config__.tag
        return f"{name}with", [name, "extras"]
    return variant.__struct_config__.tag, [field.encode_name for field, _ in layout(variant)]


@pytest.mark.parametrize(("enum", "variants"), [("Command", COMMAND_VARIANTS), ("Frame", FRAME_VARIANTS)])
def test_the_rust_types_have_the_variants_and_fields_in_order(enum, variants):
    documented = [(name, list(fields)) for name, fields in LAYOUTS.variants[enum]]
    assert documented == [variant_layout(variant) for variant in variants]


@pytest.mark.parametrize(("enum", "extras"), [("Extra", EXTRAS), ("QueueExtra", QUEUE_EXTRAS)])
def test_the_rust_types_have_the_extras_in_order(enum, extras):
    assert [name for name, _ in LAYOUTS.extras[enum]] == [name for name, _ in extras]


def test_no_rust_type_shadows_one_of_the_prelude():
    prelude = {"From", "Into", "Option", "Result", "String", "Vec", "Box", "Drop", "Clone", "Iterator"}
    assert not prelude & (set(LAYOUTS.names) | set(LAYOUTS.variants) | set(LAYOUTS.structs) | set(LAYOUTS.extras))


def test_the_page_lists_every_close_code():
    listed = {int(code) for code in re.findall(r"^\| (4\d{3}) \|", PAGE.read_text(), re.MULTILINE)}
    assert listed == {value for name, value in vars(close_codes).items() if name.isupper()}
