-- lock_session: a session and where it is, held until the commit: it can neither come back nor leave meanwhile.
-- Runs on: clients_session's primary key.
SELECT s.id, s.ended_at, c.name AS client, n.id AS node_id, n.name AS node,
       coalesce(n.heartbeat_at > now() - %(lapse)s * interval '1 second', false) AS is_live
FROM clients_session s
LEFT JOIN clients_client c ON c.id = s.client_id
LEFT JOIN clients_node n ON n.id = s.node_id
WHERE s.id = %(session)s
FOR UPDATE OF s
