"""What operators order for sessions of this node: to close one, or to look again at what it holds."""

from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from delivery.protocol.close_codes import CLOSED_BY_OPERATOR
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement

if TYPE_CHECKING:
    from delivery.node.node import Node


async def carry_out_orders(node: "Node", connection: AsyncConnection[Any]) -> None:
    for order in await fetch_rows(connection, statement("take_session_orders"), {"node": node.id}):
        session = node.sessions.get(order.session_id)
        if session is None:
            continue
        if order.disconnects:
            session.hold_seconds = 0.0  # the operator wants what it holds to go on to others
            session.kick(CLOSED_BY_OPERATOR, "An operator closed this connection.")
        else:
            await session.forget_lost_claims(connection)
