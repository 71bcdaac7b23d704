"""docs/protocol.md is what authors of clients read: what it shows must be true."""

import json
import re

import pytest
from msgspec.structs import fields

from delivery.protocol import json as json_codec
from delivery.protocol.frames import COMMANDS, FRAMES, Command
from tests.unit.protocol.documented_layouts import LAYOUTS, PAGE
from tests.unit.protocol.samples import LIMITS

EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
COMMAND_NAMES = {command.__struct_config__.tag for command in COMMANDS}
FRAME_FIELDS = {
    frame.__struct_config__.tag: {field.encode_name: field.required for field in fields(frame)} for frame in FRAMES
}


def is_frame(example: dict) -> bool:
    """Some names belong to a command and to a frame, which have other fields."""
    layout = FRAME_FIELDS.get(example["type"], {})
    return (
        set(example) - {"type"} <= set(layout)
        and all(key in example for key, required in layout.items() if required)
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


@pytest.mark.parametrize(("enum", "structs"), [("Command", COMMANDS), ("Frame", FRAMES)])
def test_the_rust_types_have_the_variants_and_fields_in_order(enum, structs):
    documented = [(name, list(layout)) for name, layout in LAYOUTS.variants[enum]]
    assert documented == [
        (struct.__struct_config__.tag, [field.encode_name for field in fields(struct)]) for struct in structs
    ]
