"""The browser that the tests need: one that is installed, or Debian's Chromium where we may install it."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from willow_site.launcher.errors import LauncherError

NAMES = ("chromium", "chromium-browser", "google-chrome")
TESTS = "tests/browser"
INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core")


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def arguments_for_pytest(arguments: list[str]) -> list[str]:
    """The arguments, without the browser tests where there is no browser and none can be installed."""
    if not _may_run_browser_tests(arguments) or find_browser():
        return arguments
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
        return arguments
    print(
        f"Leaving out {TESTS}, because there is no Chromium. On Debian and Ubuntu, run: sudo {' '.join(INSTALL)}",
        flush=True,
    )
    return [*arguments, f"--ignore={TESTS}"]


def _may_run_browser_tests(arguments: Sequence[str]) -> bool:
    """Whether the arguments name no tests at all, or these among them."""
    named = [argument for argument in arguments if argument.startswith("tests")]
    return not named or any(argument.rstrip("/") == "tests" or argument.startswith(TESTS) for argument in named)


def _install() -> None:
    print("Installing Chromium for the browser tests, because there is none.", flush=True)
    quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, "capture_output": True, "text": True}
    subprocess.run(["apt-get", "update"], check=False, **quiet)  # type: ignore[call-overload]
    installed = subprocess.run(INSTALL, check=False, **quiet)  # type: ignore[call-overload]
    if installed.returncode:
        raise LauncherError(f"Chromium could not be installed:\n{installed.stdout[-2000:]}{installed.stderr[-2000:]}")
