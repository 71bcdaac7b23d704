"""What all tests share. `./willow test` supplies the database and the Redis they run on."""

from pathlib import Path

import pytest

# Each of these shares something that takes long to make (a Spark session, a browser with a shop behind it), so one
# process runs all of its tests. They come first, because a run is over when the last of its parts is.
SUITES_OF_ONE_PROCESS = ("pipeline", "browser", "faults")
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="include the tests marked `long`")
    parser.addoption("--screens", action="store_true", help="keep what the browser's tests see in docs/screens/")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep the tests of a file in one process, where several run: they share brokers."""
    item.add_marker(pytest.mark.xdist_group(_group(item)))


@pytest.hookimpl(trylast=True)  # after others have put the tests into their order
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        _leave_out_long_tests(config, items)
    items.sort(key=lambda item: _group(item) not in SUITES_OF_ONE_PROCESS)


def _leave_out_long_tests(config: pytest.Config, items: list[pytest.Item]) -> None:
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def _group(item: pytest.Item) -> str:
    suite = item.path.relative_to(TESTS).parts[0]
    return suite if suite in SUITES_OF_ONE_PROCESS else item.path.relative_to(TESTS).as_posix()
