"""docs/delivery.md is the map of the rooms: it names each one, in the order of the layers, with all its modules."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DELIVERY = ROOT / "delivery"


def rooms_on_the_map() -> dict[str, set[str]]:
    """The modules of each room, as the table names them."""
    page = (ROOT / "docs" / "delivery.md").read_text()
    table = page[page.index("## The rooms") : page.index("## Where is")]
    rows = re.findall(r"^\| `(\w+)/` \| .* \| (.+) \|$", table, re.MULTILINE)
    return {room: set(re.findall(r"`(\w+)/?`", modules)) for room, modules in rows}


def modules_of(room: str) -> set[str]:
    files = {path.stem for path in (DELIVERY / room).glob("*.py")} - {"__init__"}
    return files | {path.parent.name for path in (DELIVERY / room).glob("*/__init__.py")}


def layers() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [rooms] = [contract["layers"] for contract in contracts if contract.get("containers") == ["delivery"]]
    return list(rooms)


def test_the_map_has_the_rooms_in_the_order_of_the_layers() -> None:
    assert list(rooms_on_the_map()) == layers()


@pytest.mark.parametrize("room", layers())
def test_the_map_names_the_modules_of_a_room(room: str) -> None:
    assert rooms_on_the_map()[room] == modules_of(room)


@pytest.mark.parametrize("room", layers())
def test_a_room_says_what_it_is_for(room: str) -> None:
    assert (DELIVERY / room / "__init__.py").read_text().startswith('"""')


def test_files_that_the_map_names_exist() -> None:
    page = (ROOT / "docs" / "delivery.md").read_text()
    named = re.findall(r"`((?:\w+/)+\w+\.(?:py|sql))`", page)
    assert named
    missing = {name for name in named if not ((DELIVERY / name).exists() or (ROOT / name).exists())}
    assert missing == set()
