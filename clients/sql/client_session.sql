-- client_session: the session that a client has now, and whether its node is alive.
-- Runs on: one_live_session_per_client.
SELECT s.id, n.name AS node,
       coalesce(n.heartbeat_at > now() - %(lapse)s * interval '1 second', false) AS alive
FROM clients_session s LEFT JOIN clients_node n ON n.id = s.node_id
WHERE s.client_id = %(client)s AND s.ended_at IS NULL
FOR UPDATE OF s
