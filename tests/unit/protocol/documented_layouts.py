"""A second, slow bincode that knows only what docs/bincode.md says in its Rust types.

Values are as in JSON, with bodies as bytes. It checks that the page and the codec agree.
"""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "bincode.md"

_ENUM_OF_NAMES = re.compile(r"^enum (\w+) \{ (.+) \}$", re.MULTILINE)
_ENUM_OF_STRUCTS = re.compile(r"^enum (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_VARIANT = re.compile(r"^    (\w+)(?: \{(.*?)\}|\((\w+)\)),", re.MULTILINE | re.DOTALL)
_EXTRA = re.compile(r"^    (\w+)(?:\((.+?)\))?,", re.MULTILINE)
_FIELD = re.compile(r"^ +(\w+): (.+),$", re.MULTILINE)
_NUMBERS = {"u32": "<I", "u64": "<Q", "f64": "<d"}


@dataclass
class Layouts:
    names: dict[str, list[str]]  # enum -> the names of its variants
    variants: dict[str, list[tuple[str, dict[str, str]]]]  # enum -> its variants -> their fields
    structs: dict[str, dict[str, str]]
    extras: dict[str, list[tuple[str, list[str]]]]  # enum -> its variants, by the names of JSON -> their values


def read_layouts() -> Layouts:
    rust = "\n".join(re.findall(r"```rust\n(.*?)```", PAGE.read_text(), re.DOTALL))
    structs = {name: _fields(body) for name, body in _STRUCT.findall(rust)}
    enums = _ENUM_OF_STRUCTS.findall(rust)
    return Layouts(
        names={
            name: [_json_name(name, each) for each in names.split(", ")] for name, names in _ENUM_OF_NAMES.findall(rust)
        },
        variants={
            name: [
                (variant.lower(), structs[struct] if struct else _fields(fields))
                for variant, fields, struct in _VARIANT.findall(body)
            ]
            for name, body in enums
            if not name.endswith("Extra")
        },
        structs=structs,
        extras={
            name: [
                (_extra_name(variant), values.split(", ") if values else []) for variant, values in _EXTRA.findall(body)
            ]
            for name, body in enums
            if name.endswith("Extra")
        },
    )


def _extra_name(variant: str) -> str:
    return "headers" if variant == "Header" else _json_name("", variant)


def _fields(text: str) -> dict[str, str]:
    return {name.rstrip("_"): rust_type for name, rust_type in _FIELD.findall(text)}


def _json_name(enum: str, name: str) -> str:
    if enum == "Code":
        return name
    if enum == "ConfigType":
        return name.upper()
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


LAYOUTS = read_layouts()
EXTRA_KEYS = {name for variants in LAYOUTS.extras.values() for name, _ in variants}


def encode_command(command: dict) -> bytes:
    """As the variant with extras, if the command has any."""
    types = [name for name, _ in LAYOUTS.variants["Command"]]
    number = types.index(command["type"])
    fields = LAYOUTS.variants["Command"][number][1]
    encoded = b"".join(_encode(fields[name], command.get(name)) for name in fields)
    extras = (
        {} if command["type"] + "with" not in types else {key: command[key] for key in command if key in EXTRA_KEYS}
    )
    if extras:
        number = types.index(command["type"] + "with")
        encoded += _encode_extras(LAYOUTS.variants["Command"][number][1]["extras"], extras)
    return struct.pack("<I", number) + encoded


def _encode_extras(rust_type: str, extras: dict) -> bytes:
    variants = dict(LAYOUTS.extras[_inner(rust_type)])
    encoded = []
    for name, given in extras.items():
        number = _encode("u32", list(variants).index(name))
        several = list(given.items()) if isinstance(given, dict) else [(given,) if variants[name] else ()]
        encoded += [number + b"".join(map(_encode, variants[name], values)) for values in several]
    return _encode("u64", len(encoded)) + b"".join(encoded)


def decode_frame(data: bytes) -> dict:
    """Extras stand beside the other fields, as they do in JSON."""
    reader = _Reader(data)
    name, fields = LAYOUTS.variants["Frame"][reader.number("u32")]
    values = {field: reader.value(rust_type) for field, rust_type in fields.items()}
    assert reader.at == len(data)
    if name.endswith("with"):
        name = name.removesuffix("with")
        values = values[name] | values["extras"]
    return {"type": name} | values


def command_field_ends(data: bytes) -> dict[str, int]:
    """Where each field of an encoded command ends; its number is the field `type`."""
    reader = _Reader(data)
    name, fields = LAYOUTS.variants["Command"][reader.number("u32")]
    if name.endswith("with"):
        fields = dict(LAYOUTS.variants["Command"])[name.removesuffix("with")] | {"extras": fields["extras"]}
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
    if rust_type == "StartAt":
        return (
            _encode("u32", 2) + _encode("u64", value)
            if isinstance(value, int)
            else _encode("u32", ["new", "oldest"].index(value))
        )
    if rust_type in LAYOUTS.structs:
        return b"".join(_encode(field, value.get(name)) for name, field in LAYOUTS.structs[rust_type].items())
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
        if rust_type in ("Vec<Extra>", "Vec<QueueExtra>"):
            return self.extras(LAYOUTS.extras[_inner(rust_type)])
        if rust_type.startswith("Vec<"):
            return [self.value(_inner(rust_type)) for _ in range(self.number("u64"))]
        if rust_type.startswith("Option<"):
            return self.value(_inner(rust_type)) if self.value("bool") else None
        if rust_type == "StartAt":
            variant = self.number("u32")
            return self.number("u64") if variant == 2 else ["new", "oldest"][variant]
        if rust_type in LAYOUTS.structs:
            return {name: self.value(field) for name, field in LAYOUTS.structs[rust_type].items()}
        return LAYOUTS.names[rust_type][self.number("u32")]

    def extras(self, variants: list[tuple[str, list[str]]]) -> dict:
        extras: dict = {}
        for _ in range(self.number("u64")):
            name, types = variants[self.number("u32")]
            values = [self.value(rust_type) for rust_type in types]
            if name == "headers":
                extras.setdefault(name, {})[values[0]] = values[1]
            else:
                extras[name] = values[0] if values else True
        return extras
