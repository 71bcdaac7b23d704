-- forget_session_orders: orders for sessions of nodes that never came for them.
-- Runs on: delivery_sessionorder as a whole; orders are few.
DELETE FROM delivery_sessionorder
WHERE asked_at <= coalesce(%(now)s::timestamptz, now()) - %(seconds)s * interval '1 second'
