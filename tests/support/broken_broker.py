"""`manage.py serve`, in which some methods raise: python -m tests.support.broken_broker MODULE:CLASS.METHOD …

For what happens between a commit and its answer, and can be broken in no other way.
"""

import os
import sys
from importlib import import_module
from typing import Any

import django
from django.core.management import call_command


def break_method(target: str) -> None:
    """The method does its work, and raises."""
    module, _, path = target.partition(":")
    class_name, _, method = path.partition(".")
    owner = getattr(import_module(module), class_name)
    plain = getattr(owner, method)

    def broken(*arguments: Any, **named: Any) -> None:
        plain(*arguments, **named)
        raise RuntimeError("This fault was put in by a test.")

    setattr(owner, method, broken)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "willow_site.settings")
    django.setup()
    for target in sys.argv[1:]:
        break_method(target)
    call_command("serve")
