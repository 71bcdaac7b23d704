"""Willow in a Django project: posts that belong to the project's transactions, and a backend for Django's tasks.

from willow_django import post

with transaction.atomic():
    order.save()
    post("orders", {"order": order.pk})  # with the commit, or not at all
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from willow_django.posting import apost, post

__all__ = ["apost", "post"]


def __getattr__(name: str) -> Any:
    """Only when they are asked for: they need models, which are not there yet while Django loads its apps."""
    if name in __all__:
        from willow_django import posting

        return getattr(posting, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
