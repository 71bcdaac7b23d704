-- take_session_orders: what operators ordered for sessions of this node.
-- Runs on: session_order_of_node.
DELETE FROM delivery_sessionorder WHERE node_id = %(node)s RETURNING session_id, disconnects
