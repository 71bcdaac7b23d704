"""A session is changed by its own methods alone."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

DELIVERY = Path(__file__).parents[3] / "delivery"
SESSION = DELIVERY / "sessions" / "session.py"


def assigned_attributes(source: str) -> Iterator[str]:
    """Attributes of something called `session` or `_session` that the source assigns, adds to or deletes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            if name in ("session", "_session"):
                yield node.attr


@pytest.mark.parametrize("source", ["session.closed = True", "self._session.count += 1", "del worker.session.role"])
def test_an_assignment_from_outside_is_found(source: str) -> None:
    assert list(assigned_attributes(source))


def test_no_other_module_assigns_attributes_of_a_session() -> None:
    found = {
        str(path.relative_to(DELIVERY)): names
        for path in DELIVERY.rglob("*.py")
        if path != SESSION and (names := sorted(assigned_attributes(path.read_text())))
    }
    assert found == {}
