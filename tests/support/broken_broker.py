"""`manage.py serve`, in which some methods or functions raise: python -m tests.support.broken_broker MODULE:PATH …

For what happens between a commit and its answer, and can be broken in no other way.
"""

import os
import sys
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any

import django
from django.core.management import call_command

FAULT = "This fault was put in by a test."


def break_method(target: str) -> None:
    """It does its work, and raises."""
    module, _, path = target.partition(":")
    *owners, name = path.split(".")
    owner: Any = import_module(module)
    for owner_name in owners:
        owner = getattr(owner, owner_name)
    plain = getattr(owner, name)

    def broken(*arguments: Any, **named: Any) -> None:
        plain(*arguments, **named)
        raise RuntimeError(FAULT)

    async def broken_coroutine(*arguments: Any, **named: Any) -> None:
        await plain(*arguments, **named)
        raise RuntimeError(FAULT)

    setattr(owner, name, broken_coroutine if iscoroutinefunction(plain) else broken)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "willow_site.settings")
    django.setup()
    for target in sys.argv[1:]:
        break_method(target)
    call_command("serve")
