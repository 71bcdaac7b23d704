"""A page of found messages on a screen: its rows, its order, and the addresses of the pages beside it."""

from django.http import QueryDict

from console.paging import PAGE_ROWS, page_address, read_cursors
from delivery.inspection.filters import MessageFilter
from delivery.inspection.search import SEARCH_SECONDS, TEXT_SECONDS, find_messages, list_name

SHOWN_BYTES = 120  # of a body


class MessageList:
    """A ValidationError says that the address has a cursor of another list."""

    def __init__(self, given: QueryDict, chosen: MessageFilter, *, backwards: bool, with_bodies: bool) -> None:
        order = chosen.order_of_state
        of = list_name(order)
        page = find_messages(
            chosen,
            limit=PAGE_ROWS,
            order=order,
            backwards=backwards,
            seconds=TEXT_SECONDS if chosen.text else SEARCH_SECONDS,
            body_bytes=SHOWN_BYTES if with_bodies else None,
            **read_cursors(given, of=of),
        )
        self.rows = page.rows
        self.looked_at = page.looked_at
        self.stopped = page.stopped
        self.order = order.backwards if backwards else order.forwards
        self.previous = page_address(given, of=of, before=page.previous)
        self.next = page_address(given, of=of, after=page.next)
