"""What all tests share. `./willow test` supplies the database and the Redis they run on."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# An example that takes long is no fault of what is tested: the machine may be slow, and the first text that is drawn
# waits for the tables of Unicode to be built.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# The slowest first: a run in several processes is over when the last file is.
SLOW_SUITES = ("pipeline", "browser", "concurrency", "faults")
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="include the tests marked `long`")
    parser.addoption("--screens", action="store_true", help="keep what the browser's tests see in docs/screens/")


@pytest.hookimpl(trylast=True)  # after others have put the tests into their order
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        _leave_out_long_tests(config, items)
    items.sort(key=lambda item: item.path.relative_to(TESTS).parts[0] not in SLOW_SUITES)


def _leave_out_long_tests(config: pytest.Config, items: list[pytest.Item]) -> None:
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
