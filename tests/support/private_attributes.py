"""What Willow uses of a library that the library does not document."""

from importlib.metadata import version

import pytest


def assert_has(library: str, owner: object, names: str, *, used_by: str, switch: str) -> None:
    """`owner` is a class, a module or an object of the library; `names` are separated by spaces."""
    missing = [name for name in names.split() if not hasattr(owner, name)]
    if missing:
        whose = getattr(owner, "__name__", type(owner).__name__)
        pytest.fail(
            f"{library} {version(library)} has no {', '.join(missing)} in {whose}, on which {used_by} depends. "
            f"Mend that, pin the version before, or run with {switch}=on.",
            pytrace=False,
        )
