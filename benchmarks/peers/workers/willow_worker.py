"""`manage.py` of the project of willow_settings.py, and its task."""

import os
import sys

import django
from django.core.management import execute_from_command_line

from willow_site.configuration import PROJECT_FOLDER

SETTINGS = "benchmarks.peers.workers.willow_settings"


def set_up() -> None:
    sys.path.insert(0, str(PROJECT_FOLDER / "sdk"))
    os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS
    django.setup()


if __name__ == "__main__":
    set_up()
    execute_from_command_line(sys.argv)
