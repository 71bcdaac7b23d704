"""`./willow fuzz`: damaged frames for both codecs and for a broker, on throwaway servers."""

import sys

from willow_site.launcher.test import on_throwaway_servers


def run(arguments: list[str]) -> int:
    return on_throwaway_servers([sys.executable, "-m", "tests.fuzz", *arguments])
