"""Where a page of found messages begins or ends, as it stands in an address."""

from urllib.parse import urlencode

from django.http import QueryDict

from delivery.inspection.walks import Place, read_place

NAMES = ("after", "before")


def read_places(given: QueryDict) -> dict[str, Place]:
    """A ValidationError says what is wrong with one."""
    return {name: read_place(given.get(name, "")) for name in NAMES if given.get(name)}


def search_of(given: QueryDict) -> str:
    """What is searched for, wherever the page is."""
    return urlencode(_chosen(given))


def _chosen(given: QueryDict) -> list[tuple[str, str]]:
    return [(name, value) for name, values in given.lists() for value in values if name not in NAMES]


def page_address(given: QueryDict, **place: Place | None) -> str | None:
    """The same search from another place on; None: there is no such page."""
    places = [(name, str(value)) for name, value in place.items() if value is not None]
    return f"?{urlencode(_chosen(given) + places)}" if places else None
