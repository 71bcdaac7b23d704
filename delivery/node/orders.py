"""What operators order for sessions of this node: to close one, or to check again what it holds."""

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
            session.hold_nothing()  # the operator wants others to get what it holds
            session.kick(CLOSED_BY_OPERATOR, "An operator closed this connection.")
        else:
            await session.claims.forget_ended(connection)
