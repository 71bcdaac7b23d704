"""A part of a screen that changes by itself: how it is read, and how it is drawn.

Its address is that of its screen, so that whoever watches a page names what stands in the browser's address bar.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.http import Http404, QueryDict
from django.template.loader import render_to_string
from django.urls import resolve

from delivery.operating.permissions import May

EVERY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Part:
    template: str
    read: Callable[..., dict[str, Any]]  # of the query string, and of what the address names
    every: float = EVERY_SECONDS
    reads_by_permission: bool = False  # `read` takes `may` too, because it tells more to some than to others

    def values(self, given: QueryDict, named: Mapping[str, Any], may: Mapping[str, bool]) -> dict[str, Any]:
        return self.read(given, **named, **({"may": may} if self.reads_by_permission else {}))

    def draw(self, given: QueryDict, named: Mapping[str, Any], may: Mapping[str, bool]) -> str:
        return render_to_string(self.template, {**self.values(given, named, may), "may": may})


@dataclass(frozen=True, slots=True)
class Watched:
    """A part of the screen at an address, as somebody with certain permissions sees it."""

    address: str
    may: frozenset[str]

    def part(self) -> Part:
        return self._resolved()[0]

    def draw(self) -> str:
        part, named = self._resolved()
        given = QueryDict(urlsplit(self.address).query)
        return part.draw(given, named, dict.fromkeys(self.may, True))

    def _resolved(self) -> tuple[Part, dict[str, Any]]:
        """The live part of the page at an address, if there is one and this person may see it."""
        match = resolve(urlsplit(self.address).path)
        part, may = getattr(match.func, "live", None), getattr(match.func, "may", None)
        if not isinstance(part, Part) or not isinstance(may, May) or may.name.lower() not in self.may:
            raise Http404(f"There is nothing to watch on {self.address}.")
        return part, match.kwargs
