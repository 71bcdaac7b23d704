"""A second, slow bincode that knows only what docs/protocol.md says in its Rust types.

Values are as in JSON, with bodies as bytes. It checks that the page and the codec agree.
"""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "protocol.md"

_ENUM_OF_NAMES = re.compile(r"^enum (\w+) \{ (.+) \}$", re.MULTILINE)
_ENUM_OF_STRUCTS = re.compile(r"^enum (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_VARIANT = re.compile(r"^    (\w+) \{(.*?)\},", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^ +(\w+): (.+),$", re.MULTILINE)
_NUMBERS = {"u32": "<I", "u64": "<Q", "f64": "<d"}


@dataclass
class Layouts:
    names: dict[str, list[str]]  # enum -> the names of its variants
    variants: dict[str, list[tuple[str, dict[str, str]]]]  # enum -> its variants -> their fields
    structs: dict[str, dict[str, str]]


def read_layouts() -> Layouts:
    rust = "\n".join(re.findall(r"```rust\n(.*?)```", PAGE.read_text(), re.DOTALL))
    return Layouts(
        names={
            name: [_json_name(name, each) for each in names.split(", ")] for name, names in _ENUM_OF_NAMES.findall(rust)
        },
        variants={
            name: [(variant.lower(), _fields(fields)) for variant, fields in _VARIANT.findall(body)]
            for name, body in _ENUM_OF_STRUCTS.findall(rust)
        },
        structs={name: _fields(body) for name, body in _STRUCT.findall(rust)},
    )


def _fields(text: str) -> dict[str, str]:
    return {name.rstrip("_"): rust_type for name, rust_type in _FIELD.findall(text)}


def _json_name(enum: str, name: str) -> str:
    if enum == "Code":
        return name
    if enum == "ConfigType":
        return name.upper()
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


LAYOUTS = read_layouts()


def encode_command(command: dict) -> bytes:
    types = [name for name, _ in LAYOUTS.variants["Command"]]
    number = types.index(command["type"])
    fields = LAYOUTS.variants["Command"][number][1]
    return struct.pack("<I", number) + b"".join(_encode(fields[name], command.get(name)) for name in fields)


def decode_frame(data: bytes) -> dict:
    reader = _Reader(data)
    name, fields = LAYOUTS.variants["Frame"][reader.number("u32")]
    frame = {"type": name} | {field: reader.value(rust_type) for field, rust_type in fields.items()}
    assert reader.at == len(data)
    return frame


def command_field_ends(data: bytes) -> dict[str, int]:
    """Where each field of an encoded command ends; its number is the field `type`."""
    reader = _Reader(data)
    _, fields = LAYOUTS.variants["Command"][reader.number("u32")]
    ends = {"type": reader.at}
    for field, rust_type in fields.items():
        reader.value(rust_type)
        ends[field] = reader.at
    assert reader.at == len(data)
    return ends


def _inner(rust_type: str) -> str:
    return rust_type[rust_type.index("<") + 1 : -1]


def _encode(rust_type: str, value) -> bytes:
    if rust_type in _NUMBERS:
        return struct.pack(_NUMBERS[rust_type], value)
    if rust_type == "bool":
        return bytes([value])
    if rust_type == "String":
        return _encode("Vec<u8>", value.encode())
    if rust_type == "Vec<u8>":
        return _encode("u64", len(value)) + value
    if rust_type == "From":
        return (
            _encode("u32", 2) + _encode("u64", value)
            if isinstance(value, int)
            else _encode("u32", ["new", "oldest"].index(value))
        )
    if rust_type.startswith("Vec<"):
        return _encode("u64", len(value)) + b"".join(_encode(_inner(rust_type), item) for item in value)
    if rust_type.startswith("Option<"):
        return b"\0" if value is None else b"\1" + _encode(_inner(rust_type), value)
    return _encode("u32", LAYOUTS.names[rust_type].index(value))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, length: int) -> bytes:
        assert self.at + length <= len(self.data)
        self.at += length
        return self.data[self.at - length : self.at]

    def number(self, rust_type: str):
        return struct.unpack(_NUMBERS[rust_type], self.take(struct.calcsize(_NUMBERS[rust_type])))[0]

    def value(self, rust_type: str):
        if rust_type in _NUMBERS:
            return self.number(rust_type)
        if rust_type == "bool":
            return {b"\0": False, b"\1": True}[self.take(1)]
        if rust_type == "String":
            return self.value("Vec<u8>").decode()
        if rust_type == "Vec<u8>":
            return self.take(self.number("u64"))
        if rust_type.startswith("Vec<"):
            return [self.value(_inner(rust_type)) for _ in range(self.number("u64"))]
        if rust_type.startswith("Option<"):
            return self.value(_inner(rust_type)) if self.value("bool") else None
        if rust_type == "From":
            variant = self.number("u32")
            return self.number("u64") if variant == 2 else ["new", "oldest"][variant]
        if rust_type in LAYOUTS.structs:
            return {name: self.value(field) for name, field in LAYOUTS.structs[rust_type].items()}
        return LAYOUTS.names[rust_type][self.number("u32")]
