#!/usr/bin/env python3
"""Django's command line for Willow."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "willow_site.settings")
    from django.core.management import execute_from_command_line
    from django.db import Error

    from willow_site.database_problems import explained

    try:
        execute_from_command_line(sys.argv)
    except Error as error:
        if not (sentence := explained(error)) or "--traceback" in sys.argv:
            raise
        sys.exit(sentence)


if __name__ == "__main__":
    main()
