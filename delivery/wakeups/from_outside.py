"""Hints from outside the nodes: from operators in the console and over REST, often in the same process as a node."""

import asyncio

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings

from delivery.wakeups.hints import OPERATOR, Hint, Hints, as_sent, send_hint
from delivery.wakeups.outage import redis_outage

_here: tuple[Hints, asyncio.AbstractEventLoop] | None = None  # the node of this process and the loop on which it runs


def listen_here(hints: Hints, loop: asyncio.AbstractEventLoop) -> None:
    """A node runs in this process: it is told without the channel layer."""
    global _here
    _here = hints, loop


def tell_nodes(hint: Hint) -> None:
    """To be called when what the hint says is committed. Nodes that it does not reach find it by polling."""
    sender = OPERATOR
    if _here is not None:
        hints, loop = _here
        sender = hints.node_id
        loop.call_soon_threadsafe(hints.receive, as_sent(OPERATOR, hint))
    if settings.WILLOW.redis_url:
        try:
            async_to_sync(send_hint)(get_channel_layer(), sender, hint)
        except Exception as error:  # whatever is wrong with Redis: nodes go on by polling
            redis_outage.noticed(error)
