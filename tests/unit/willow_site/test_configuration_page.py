"""docs/configuration.md and the code describe the same settings."""

import re

import pytest

from willow_site.configuration import declared_settings
from willow_site.project_folder import PROJECT_FOLDER
from willow_site.setting_declaration import Setting

ROW = re.compile(r"^\| `(?P<variable>[A-Z_]+)` \| (?P<rest>.*) \|$", re.MULTILINE)
SETTINGS = declared_settings()


def rows_of_the_page() -> dict[str, list[str]]:
    page = (PROJECT_FOLDER / "docs" / "configuration.md").read_text()
    return {row["variable"]: [cell.strip() for cell in row["rest"].split(" | ")] for row in ROW.finditer(page)}


def default_cell(setting: Setting) -> str:
    if setting.default is None:
        return setting.default_about
    return f"`{setting.default}`" if setting.default else "empty"


def test_the_page_lists_every_setting_and_nothing_else_in_the_same_order() -> None:
    assert list(rows_of_the_page()) == [setting.variable for setting in SETTINGS.values()]


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda setting: setting.variable)
def test_the_page_describes_the_setting_as_the_code_does(setting: Setting) -> None:
    assert rows_of_the_page()[setting.variable] == [
        default_cell(setting),
        setting.unit,
        setting.kind.allowed,
        setting.about,
    ]


@pytest.mark.parametrize("name", SETTINGS)
def test_a_field_is_named_like_its_variable(name: str) -> None:
    assert SETTINGS[name].variable.removeprefix("WILLOW_").lower() == name
