"""Willow measured against the PostgreSQL beneath it: `python -m benchmarks` or `./willow bench`."""

import sys

from willow_site.configuration import PROJECT_FOLDER

# The client is a package of its own; in a checkout it is used without being installed.
sys.path.insert(0, str(PROJECT_FOLDER / "sdk"))
