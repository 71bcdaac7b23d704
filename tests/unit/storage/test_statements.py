"""Named statements: what their files may say by name, and what comes of it."""

from pathlib import Path

import pytest

from delivery.storage.statements import statement
from delivery.storage.vocabulary import NAMED_SEVERAL, NAMES, Outcome, State
from queues.definitions import DEAD_SUFFIX
from queues.statements import Statements


def statements(folder: Path, **files: str) -> Statements:
    for name, text in files.items():
        (folder / f"{name}.sql").write_text(text)
    return Statements(folder, {"CLAIMED": 2, "SUFFIX": ".dead", "ODD": "it's 5%"})


def test_a_name_becomes_its_value(tmp_path: Path) -> None:
    written = statements(tmp_path, claim="-- claim: :NOBODY\nSET state = :CLAIMED\nWHERE name LIKE '%%' || :SUFFIX")
    assert written("claim") == "SET state = 2\nWHERE name LIKE '%%' || '.dead'"


def test_a_text_is_quoted(tmp_path: Path) -> None:
    assert statements(tmp_path, odd="SELECT :ODD")("odd") == "SELECT 'it''s 5%%'"


@pytest.mark.parametrize("text", ["%(state)s::INT", "a[1:]", "a[x:y]", "'HH24:MI:SS'", "now()::TEXT", "x ->> ':lower'"])
def test_other_colons_stay_what_they_are(tmp_path: Path, text: str) -> None:
    assert statements(tmp_path, other=text)("other") == text


def test_an_unknown_name_is_an_error_at_load(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"claim\.sql says :CLAIMD, which nobody has defined"):
        statements(tmp_path, claim="SET state = :CLAIMD")


def test_statements_share_a_part(tmp_path: Path) -> None:
    written = statements(tmp_path, _freed="-- freed: IDs.\nfreed AS (:CLAIMED)", finish="), :FREED\nSELECT")
    assert written("finish") == "), freed AS (2)\nSELECT"
    assert list(written.files) == ["finish"]


def test_the_delivery_says_states_masks_and_the_suffix() -> None:
    assert f"state = {State.CLAIMED.value}" in statement("finish")
    assert f"notify & ({NAMED_SEVERAL} | 256)" in statement("finish")
    assert f"LIKE '%%' || '{DEAD_SUFFIX}'" in statement("retry")


def test_states_and_outcomes_do_not_take_each_others_names() -> None:
    assert [NAMES[state.name] for state in State] == State.values
    assert [NAMES[outcome.name] for outcome in Outcome] == Outcome.values
