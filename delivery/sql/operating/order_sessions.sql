-- order_sessions: leave an operator's order for sessions that are live, with the nodes where they are.
-- Runs on: clients_session's primary key.
INSERT INTO delivery_sessionorder (session_id, node_id, disconnects)
SELECT id, node_id, %(disconnects)s FROM clients_session
WHERE id = ANY (%(session)s::bigint[]) AND node_id IS NOT NULL
