"""Hints from those who are no node, or run beside one in its process: operators, in the console and over REST."""

import logging

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings

from delivery import node
from delivery.hints import OPERATOR, Hint, as_sent, send_hint

logger = logging.getLogger(__name__)


def tell_nodes(hint: Hint) -> None:
    """To be called when what the hint says is committed. Nodes that it does not reach find it by polling."""
    sender = OPERATOR
    if (here := node.here()) is not None:
        this_node, loop = here
        sender = this_node.id
        loop.call_soon_threadsafe(this_node.hints.heed, as_sent(OPERATOR, hint))
    if settings.WILLOW.redis_url:
        try:
            async_to_sync(send_hint)(get_channel_layer(), sender, hint)
        except Exception as error:  # whatever is wrong with Redis: nodes go on by polling
            logger.warning("A hint to the nodes was lost: %s", error)
